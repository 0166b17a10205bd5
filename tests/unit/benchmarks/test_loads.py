"""Loads: pages that move as a host does, messages with the current time, addresses of switches."""

import random
import re
import time
from itertools import pairwise

import pytest

from benchmarks.loads.child import ServerProcess
from benchmarks.loads.gnmi_servers import _stamped, responses, switches_of
from benchmarks.loads.load import _lines
from benchmarks.loads.moving_pages import _increasing, _node_value, _varying, gpu_pages, node_pages
from benchmarks.loads.pages import changed, gpu_page, pages
from ingest.collectors.gnmi.config import Source
from simulator.config import SimulatorConfig
from simulator.wiring import build_layout
from telemetry.gnmi import gnmi_pb2

SMALL = SimulatorConfig(hosts=2, gpus_per_host=2, interval_s=2.0)


def values(page: bytes) -> dict[str, float]:
    """By series."""
    lines = (line.rpartition(" ") for line in page.decode().splitlines() if line and not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}


def test_the_gpu_page_has_thirty_fields_of_eight_gpus() -> None:
    page = gpu_page().decode()
    assert len(values(gpu_page())) == 240
    assert len(re.findall(r"^# TYPE ", page, re.MULTILINE)) == 30


@pytest.mark.parametrize("name", ["gpu", "node", "lustre"])
def test_a_changed_page_differs_only_in_last_digits(name: str) -> None:
    page = pages()[name][1]
    after = changed(page)
    assert len(after) == len(page)
    assert after != page
    assert list(values(after)) == list(values(page))
    differ = [(a, b) for a, b in zip(page, after, strict=True) if a != b]
    assert {b - a for a, b in differ} == {1}
    assert len(differ) > 0.4 * len(values(page))


@pytest.mark.parametrize("moving", [gpu_pages, node_pages])
def test_names_and_labels_stay_and_counters_never_fall(moving) -> None:
    found = list(moving(4))
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", found[0].decode(), re.MULTILINE))
    series = [values(page) for page in found]
    assert all(list(each) == list(series[0]) for each in series)
    for before, after in pairwise(series):
        for name, value in after.items():
            if kinds[name.partition("{")[0]] == "counter" and "DCGM" not in name:
                assert value >= before[name], name
    assert sum(series[0][name] != series[3][name] for name in series[0]) > 0.2 * len(series[0])


def test_the_seed_decides_the_pages() -> None:
    assert list(gpu_pages(2)) == list(gpu_pages(2)) != list(gpu_pages(2, seed=7))


def test_values_of_gpus_are_within_their_limits() -> None:
    for page in gpu_pages(3):
        for name, value in values(page).items():
            if name.startswith("DCGM_FI_DEV_GPU_TEMP"):
                assert 48 <= value <= 55
            if name.startswith("DCGM_FI_DEV_ECC"):
                assert value == 0


@pytest.mark.parametrize(
    ("name", "kind", "value", "expected"),
    [
        ("node_network_receive_bytes_total", "counter", b"1e+06", (1e6 + 90, 1e6 + 110)),  # a ten-thousandth
        ("node_context_switches_total", "counter", b"1000", (1027, 1033)),  # at least 30
        ("node_disk_io_time_seconds_total", "counter", b"5.5", (5.518, 5.522)),  # 20 ms
        ("node_load1", "gauge", b"2.5", (2.45, 2.5)),
        ("node_time_seconds", "gauge", b"1000.25", (1001.25, 1001.25)),
    ],
)
def test_what_moves_and_how_far_in_a_second(name: str, kind: str, value: bytes, expected: tuple[float, float]) -> None:
    move = _node_value(name, kind, value)
    assert move is not None
    assert expected[0] <= float(move(random.Random(1))) <= expected[1]


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("node_network_receive_errs_total", "counter", b"7"),
        ("node_network_transmit_drop_total", "counter", b"7"),
        ("node_vmstat_oom_kill", "untyped", b"7"),
        ("node_disk_reads_completed_total", "counter", b"0"),  # what is not used
        ("node_filesystem_size_bytes", "gauge", b"1e12"),
    ],
)
def test_errors_sizes_and_what_is_unused_keep_their_values(name: str, kind: str, value: bytes) -> None:
    assert _node_value(name, kind, value) is None


def test_steps_add_up_and_gauges_do_not() -> None:
    dice = random.Random(1)
    rises, varies = _increasing(10.0, 1.0, 1.0, 1), _varying(5.0, 5.0, 2)
    assert [rises(dice) for _ in range(3)] == ["11.0", "12.0", "13.0"]
    assert [varies(dice) for _ in range(2)] == ["5.00", "5.00"]


def test_lines_with_values_are_counted() -> None:
    assert _lines([b"# HELP a b\n# TYPE a gauge\na 1\n\nb 2\n", b"c 3\n"]) == 3


def test_every_switch_has_an_address_of_its_own() -> None:
    found = switches_of(build_layout(SimulatorConfig(hosts=300)), 57400)
    assert len({switch.address for switch in found}) == len(found) > 250
    assert found[0].address == "127.10.0.1:57400"
    assert found[250].address == "127.10.1.1:57400"
    assert {switch.source for switch in found if switch.name.startswith("spine")} == {Source.ARISTA}
    assert {switch.source for switch in found if switch.name.startswith("leaf")} == {Source.SONIC}


def test_a_message_goes_out_with_the_current_time_and_nothing_else_changed() -> None:
    switches = switches_of(build_layout(SMALL), 1)
    found = responses(SMALL, [switches[0], switches[-1]], 2, slow=False)
    assert set(found) == {switches[0].name, switches[-1].name}
    for by_subscription in found.values():
        for variants in by_subscription.values():
            assert len(variants) == 2
            for message in variants[0]:
                sent_ns, stamped = time.time_ns(), _stamped(message)
                before = gnmi_pb2.SubscribeResponse.FromString(message)
                after = gnmi_pb2.SubscribeResponse.FromString(stamped)
                assert after.update.timestamp >= sent_ns
                after.update.timestamp = before.update.timestamp
                assert after == before


def test_counters_move_from_variant_to_variant() -> None:
    switch = switches_of(build_layout(SMALL), 1)[-1]
    found = responses(SMALL, [switch], 2)[switch.name]
    assert any(variants[0] != variants[1] for variants in found.values())
    assert len(found) > len(responses(SMALL, [switch], 1, slow=False)[switch.name])


def _never_ready(ready: object) -> None:
    return


def test_a_server_that_does_not_start_is_an_error() -> None:
    with (
        pytest.raises(RuntimeError, match=r"ServerProcess did not start in 0\.01 s"),
        ServerProcess(_never_ready, start_s=0.01),
    ):
        pass
