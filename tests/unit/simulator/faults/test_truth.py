"""Ground truth as lines of JSON, in order of their begin."""

from pathlib import Path

import orjson
import pytest

from simulator.faults.truth import Truth, write_truth
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device

SPINE = Truth("spine-down", IncidentKind.DEVICE_DOWN, device("spine1"), 20, 0)
WAVE = Truth("planned-reboot-wave", IncidentKind.DEVICE_REBOOTED, device("node1"), 10, 50, True, ("node1", "node2"))
RACK = Truth("rack-cooling", IncidentKind.ENVIRONMENT, ObjectRef(ObjectKind.RACK, "r1"), 20, 40, reach=("node1",))


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (
            SPINE,
            {
                "fault": "spine-down",
                "expected": "device_down",
                "root": "device:spine1",
                "start_ns": 20,
                "end_ns": 0,
                "planned": False,
                "reach": [],
            },
        ),
        (
            WAVE,
            {
                "fault": "planned-reboot-wave",
                "expected": "device_rebooted",
                "root": "device:node1",
                "start_ns": 10,
                "end_ns": 50,
                "planned": True,
                "reach": ["node1", "node2"],
            },
        ),
    ],
)
def test_a_line_has_all_fields(truth: Truth, expected: dict[str, object]) -> None:
    assert truth.line().endswith(b"\n")
    assert orjson.loads(truth.line()) == expected


def test_a_line_has_what_else_is_right_and_lost() -> None:
    card = Truth(
        "line-card-down",
        IncidentKind.DEVICE_DOWN,
        device("spine1"),
        10,
        0,
        accepted=(IncidentKind.LINK_DOWN,),
        roots=(device("leaf1"),),
        silent=True,
    )
    found = orjson.loads(card.line())
    assert (found["accepted"], found["roots"], found["silent"]) == (["link_down"], ["device:leaf1"], True)


def test_lines_are_in_order_of_begin_then_name(tmp_path: Path) -> None:
    write_truth(tmp_path / "truth.jsonl", [SPINE, RACK, WAVE])
    lines = [orjson.loads(line)["fault"] for line in (tmp_path / "truth.jsonl").read_bytes().splitlines()]
    assert lines == ["planned-reboot-wave", "rack-cooling", "spine-down"]


def test_no_faults_are_an_empty_file(tmp_path: Path) -> None:
    write_truth(tmp_path / "truth.jsonl", [])
    assert (tmp_path / "truth.jsonl").read_bytes() == b""
