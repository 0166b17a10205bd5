"""New versions of what runs on a device, out of the label sets of one metric."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from analytics.correlate import versions
from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from tests.unit.analytics.restart import restarted
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, clockwork, run, table

COMPONENTS = {"a": ("kernel", "6.8.0-57"), "b": ("kernel", "6.8.0-60"), "c": ("gpu_driver", "580.105.08")}
COMPONENTS |= {
    "d": ("gpu_driver", "580.126.09"),
    "e": ("nic_driver", "mlx5_core 24.10"),
    "f": ("nic_driver", "e1000e 5.1"),
}
KEYS = [
    series_key("device_software_info", {"device": "node1", "component": component, "version": version})
    for component, version in COMPONENTS.values()
]
HOST = table("node1", [series_key("node_load_1m", {"device": "node1"}), *KEYS], "node")


def collected(seq: int, installed: str) -> SampleBatch:
    """A collection with the load of the host and these versions."""
    whole = batch(HOST, seq, [float(seq % 5), *([1.0] * len(KEYS))])
    rows = np.array([0, *(1 + list(COMPONENTS).index(each) for each in installed)])
    return replace(whole, times_ns=whole.times_ns[rows], series=whole.series[rows], values=whole.values[rows])


def outputs(shown: Sequence[str], engine: Engine | None = None, first: int = 0) -> list[Finding]:
    """What is found where these versions are installed at each collection; '' is no collection."""
    stream: Iterable[SampleBatch] = [
        *(collected(seq, installed) for seq, installed in enumerate(shown, first) if installed),
        *clockwork(1, range(first, first + len(shown) + 2)),
    ]
    ordered = sorted(stream, key=lambda each: each.collection.collected_ns)
    found = run(engine or Engine(CONFIG), ordered)
    return [each for each in found if isinstance(each, Finding) and each.kind is FindingKind.SOFTWARE_CHANGED]


def test_a_new_version_is_a_finding_about_the_device_that_says_what_it_had() -> None:
    found = outputs(["ac"] * 4 + [""] * 12 + ["bc"] * 12)
    assert (str(found[0].object), found[0].state) == ("device:node1", FindingState.ACTIVE)
    assert found[0].onset_ns == START_NS + 16 * INTERVAL_S * SECOND
    assert versions.text(versions.new(found[0])) == "kernel 6.8.0-60, had 6.8.0-57"
    assert (found[-1].state, len({each.id for each in found})) == (FindingState.CLEARED, 1)


def test_what_changes_a_moment_later_is_of_the_same_finding() -> None:
    """As the exporter of the GPUs starts after that of the host."""
    found = outputs(["ac"] * 4 + ["b"] * 3 + ["bd"] * 20)
    said = [versions.text(versions.new(each)) for each in found if each.state is FindingState.ACTIVE]
    assert "gpu driver 580.126.09, had 580.105.08; kernel 6.8.0-60, had 6.8.0-57" in said
    assert len({each.id for each in found}) == 1


def test_a_version_that_comes_back_is_a_change_too() -> None:
    found = outputs(["a"] * 4 + ["b"] * 12 + ["a"] * 12)
    said = dict.fromkeys(versions.text(versions.new(each)) for each in found if each.state is FindingState.ACTIVE)
    assert list(said) == ["kernel 6.8.0-60, had 6.8.0-57", "kernel 6.8.0-57, had 6.8.0-60"]


@pytest.mark.parametrize(
    "shown",
    [
        ["ace"] * 12,  # nothing is new
        ["a"] * 4 + ["ac"] * 12,  # an exporter that was added
        ["aef"] * 4 + ["ae"] * 4 + ["aef"] * 4,  # of two versions side by side one NIC was not read
        ["ac"] * 4 + ["a"] * 4 + [""] * 4 + ["ac"] * 4,  # the same after a while without it
    ],
)
def test_what_is_the_same_or_the_first_is_no_change(shown: Sequence[str]) -> None:
    assert outputs(shown) == []


def test_it_is_known_over_a_restart_what_a_device_had() -> None:
    engine = Engine(CONFIG)
    assert outputs(["a"] * 6, engine) == []
    found = outputs(["b"] * 6, restarted(engine, Engine(CONFIG)), first=8)
    assert versions.text(versions.new(found[0])) == "kernel 6.8.0-60, had 6.8.0-57"
