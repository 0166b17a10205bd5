"""Numbers and labels on pages, and the small decisions about time and addresses."""

import pytest

from common.units import NS_PER_S
from simulator.servers.addresses import with_offset
from simulator.servers.clock import SimulatedClock, default_start_ns
from simulator.servers.control import FaultRequest
from simulator.servers.pages.slurm import compressed
from simulator.servers.pages.template import Family, PageTemplate, go_float
from tests.samples import SAMPLES


def test_numbers_are_written_as_a_real_node_exporter_writes_them() -> None:
    lines = (SAMPLES / "node_exporter" / "e2e_selected_families.prom").read_text().splitlines()
    written = [line.rpartition(" ")[2] for line in lines if line and not line.startswith("#")]
    assert len(written) > 500
    assert [go_float(float(text)) for text in written] == written


def test_labels_and_percent_signs_are_escaped() -> None:
    rows = [{"path": 'C:\\ "x"\n', "share": "5%"}]
    page = PageTemplate([Family("used", "gauge", "Used, in %.", "%d", rows)])
    assert page.render([7]) == (
        '# HELP used Used, in %.\n# TYPE used gauge\nused{path="C:\\\\ \\"x\\"\\n",share="5%"} 7\n'
    )


def test_a_wrong_number_of_values_is_an_error() -> None:
    page = PageTemplate([Family("a", "gauge", "A.", "%d", [{}, {"x": "1"}])])
    with pytest.raises(TypeError):
        page.render([1])


def test_an_offset_shifts_addresses_within_the_loopback() -> None:
    assert with_offset("127.2.0.9", 0) == "127.2.0.9"
    assert with_offset("127.2.3.9", 40) == "127.2.43.9"


def test_a_fast_simulation_starts_in_the_past_and_runs_at_its_speed() -> None:
    wall_ns = 1_795_000_000 * NS_PER_S
    assert default_start_ns(1.0, wall_ns) == wall_ns
    assert wall_ns - 3600 * NS_PER_S < default_start_ns(10.0, wall_ns) < wall_ns - 3000 * NS_PER_S
    ticks = iter([5 * NS_PER_S, 7 * NS_PER_S])
    clock = SimulatedClock(wall_ns, 10.0, monotonic_ns=lambda: next(ticks))
    assert clock.now_ns() == wall_ns + 20 * NS_PER_S


@pytest.mark.parametrize(
    ("at", "from_now", "at_s"), [("+0s", True, 0), ("30s", False, 30), ("+250ms", True, 0.25), ("2m", False, 120)]
)
def test_fault_times_count_from_now_or_from_the_start(at: str, from_now: bool, at_s: float) -> None:
    wanted = FaultRequest(fault="link-down", at=at)
    assert (wanted.from_now, wanted.scheduled().at_s) == (from_now, at_s)


def test_node_lists_are_compressed_as_slurm_does() -> None:
    assert compressed(()) == ""
    assert compressed(("node3",)) == "node3"
    assert compressed(("node10", "node2", "node3", "node11")) == "node[2-3,10-11]"
    assert compressed(("a1", "b", "a2")) == "a[1-2],b"
