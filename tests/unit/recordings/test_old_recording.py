"""A recording of release 0.1.0: read by today's program, with the results of its time.

That release wrote ``tests/recordings/slow-receiver-0.1.0``: 220 s of two simulated hosts, of which one receiver is slow
for 40 s. ``findings.jsonl`` and ``incidents.jsonl`` are the results of its replay. A difference is either a defect or a
deliberate change of detection: then note it in the changelog, and replace the two files.
"""

from pathlib import Path

import pytest

from analytics.config import EngineConfig
from fabricscope.replay import replay
from recordings.manifest import read_manifest
from recordings.reader import read_batches, read_topology_and_changes
from telemetry.changes import Change
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentState

OLD = Path(__file__).parents[2] / "recordings" / "slow-receiver-0.1.0"
RECORDING = OLD / "recording"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replayed")
    replay(RECORDING, folder, EngineConfig(**read_manifest(RECORDING).analytics))
    return folder


@pytest.mark.parametrize("name", ["findings.jsonl", "incidents.jsonl"])
def test_its_replay_gives_the_same_lines(replayed, name):
    assert (replayed / name).read_bytes().splitlines() == (OLD / name).read_bytes().splitlines()


def test_its_incident_fired_and_was_resolved():
    """Else equal lines would prove little."""
    incidents = [decode_record(line, Incident) for line in (OLD / "incidents.jsonl").read_bytes().splitlines()]
    assert [one.state for one in incidents] == [*[IncidentState.FIRING] * 10, IncidentState.RESOLVED]
    assert {str(one.root) for one in incidents} == {"port:leaf6/Ethernet0"}


def test_everything_in_it_is_read():
    manifest = read_manifest(RECORDING)
    assert (manifest.version, manifest.program, manifest.cluster) == (1, "0.1.0", "lab")
    assert sum(len(one.batch) for one in read_batches(RECORDING)) == sum(part.samples for part in manifest.slices)
    records = list(read_topology_and_changes(RECORDING))
    assert len(records) == sum(file.rows for part in manifest.slices for file in part.files if "facts" in file.name)
    assert any(isinstance(record, Change) for record in records)
