"""``make crash`` in short: three kills a bus, between numbered pages and a remote-write receiver, without a cluster."""

from pathlib import Path

import pytest

from tests.acceptance.crash.plan import Strike
from tests.acceptance.crash.run import run
from tests.acceptance.crash.site import Site
from tests.acceptance.lab import Engine

STAGES = ("ingest", "export")


@pytest.mark.parametrize(
    ("engine", "strikes"),
    [
        ("embedded", [Strike(0.5, ("ingest",)), Strike(0.5, ("export", "ingest"))]),
        ("kafka", [Strike(0.5, ("kafka",)), Strike(0.5, ("export", "ingest"))]),
    ],
)
def test_a_few_kills_lose_double_and_invent_nothing(tmp_path: Path, engine: Engine, strikes: list[Strike]) -> None:
    said: list[str] = []
    with Site(tmp_path, engine, STAGES, simulated=False) as site:
        verdict = run(site, strikes, said.append)
    assert verdict.passed, verdict
    assert verdict.samples.served > 0
    assert verdict.recovery_s
    assert said[1] == f"{engine}: killed 3 of 3: export and ingest"
