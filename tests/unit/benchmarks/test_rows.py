"""Rows of benchmarks, their targets, and which benchmarks run."""

import importlib
import json
import sys
from types import ModuleType

import pytest

from benchmarks import __main__ as program
from benchmarks.__main__ import NAMES, TARGETS, selected, table, verdict
from benchmarks.machine import machine
from benchmarks.rows import Row, print_rows, row


@pytest.mark.parametrize(
    ("value", "reference", "expected"),
    [
        (123456.0, None, (123500.0, None, None)),
        (0.000123456, None, (0.0001235, None, None)),
        (200.0, 50.0, (200.0, 50.0, 4.0)),
        (10.0, 3.0, (10.0, 3.0, 3.333)),
        (0.0, 3.0, (0.0, 3.0, 0.0)),
    ],
)
def test_figures_have_four_digits_and_a_ratio_to_their_reference(
    value: float, reference: float | None, expected: tuple[float | None, ...]
) -> None:
    found = row("some", value, "samples/CPU-s", reference)
    assert (found["value"], found["reference"], found["ratio"]) == expected
    assert (found["name"], found["unit"]) == ("some", "samples/CPU-s")


def test_the_ratio_is_of_the_measured_values_not_of_the_rounded_ones() -> None:
    assert row("some", 1.00049, "s", 1.00051)["ratio"] == 1.0
    assert row("some", 100049.0, "s", 0.0100051)["ratio"] == 1.0e7


def test_a_benchmark_alone_prints_a_line_of_json_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row("one", 1.5, "s"), row("two", 3.0, "s", 2.0)]
    print_rows(iter(rows))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows


def test_all_benchmarks_run_unless_some_are_named() -> None:
    assert selected([]) == NAMES
    assert selected(["simulator", "gnmi"]) == ["simulator", "gnmi"]
    with pytest.raises(SystemExit, match="no benchmark speed, fast, expected exposition, gnmi"):
        selected(["speed", "gnmi", "fast"])


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_be_imported_and_run(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.run)


def of(name: str, value: float, ratio: float | None = None) -> Row:
    return {"name": name, "value": value, "unit": "", "reference": None, "ratio": ratio}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (of("exposition gpu page, known layout", 1.0, 100.0), "≥ 100×: met"),
        (of("exposition gpu page, known layout", 1.0, 99.9), "≥ 100×: MISSED"),
        (of("exposition gpu page, first time", 1.0, 1.0), ""),
        (of("gnmi_decode_240_updates_a_message", 1.0, 4.0), "≥ 5×: MISSED"),
        (of("cisco_mdt_64_ports_a_message_beside_telegraf", 1.0, 5.0), "≥ 5×: met"),
        (of("otlp_32_points_a_request_beside_telegraf", 1.0, 4.9), "≥ 5×: MISSED"),
        (of("remote_write_40_samples_a_request_beside_telegraf", 1.0, 4.9), "≥ 5×: MISSED"),
        (of("scoring: 100,000 series, all in Python", 3_000_000, 49.0), "≥ 3,000,000, 50×: MISSED"),
        (of("scoring: 100,000 series, all in Python", 2_999_999, 50.0), "≥ 3,000,000, 50×: MISSED"),
        (of("scoring: 100,000 series, all in Python", 3_000_000, 50.0), "≥ 3,000,000, 50×: met"),
        (of("scoring: state of a series", 2048.0), "≤ 2,048: met"),
        (of("scoring: state of a series", 2049.0), "≤ 2,048: MISSED"),
        (of("simulator: 512 GPUs, healthy", 1.0, 1.2), "≥ 1×: met"),
        (of("end to end, kafka: collector and analytics together", 499_999.0), "≥ 500,000: MISSED"),
        (of("end to end of pages alone, embedded: record on the bus", 8.0), "≤ 8: met"),
        (of("end to end, kafka: load", 1.0), ""),
    ],
)
def test_a_target_is_met_at_its_limit(given: Row, text: str) -> None:
    assert verdict(given) == text


def test_no_row_has_two_targets() -> None:
    assert len({target.names for target in TARGETS}) == len(TARGETS)


def test_the_table_has_plain_numbers() -> None:
    drawn = table([row("some", 1234567.0, "samples/CPU-s", 2.5), row("other", 0.123, "s")])
    cells = [list(column.cells) for column in drawn.columns]
    assert [column[0] for column in cells] == ["some", "1,235,000", "samples/CPU-s", "2.50", "493,800.0×", ""]
    assert [column[1] for column in cells] == ["other", "0.12", "s", "", "", ""]


def test_results_are_written_after_each_benchmark(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[str]] = []
    out = tmp_path / "build" / "bench.json"

    def benchmark(name: str) -> ModuleType:
        def run() -> list[Row]:
            if out.exists():
                written.append([each["name"] for each in json.loads(out.read_text())])
            return [row(f"{name} a", 1.0, "s"), {**row(f"{name} b", 2.0, "s"), "more": 1}]

        module = ModuleType(name)
        module.run = run  # type: ignore[attr-defined]
        return module

    monkeypatch.setattr(program, "OUT", out)
    for name in ("simulator", "gnmi"):
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", benchmark(name))
    program.main(["simulator", "gnmi"])
    first = ["machine", "simulator a", "simulator b"]
    assert written == [first]
    found = json.loads(out.read_text())
    assert [each["name"] for each in found] == [*first, "gnmi a", "gnmi b"]
    assert found[-1].keys() == {"name", "value", "unit", "reference", "ratio"}


def test_the_machine_is_described() -> None:
    found = machine()
    assert found["name"] == "machine"
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 2**28
    assert found["versions"]["numpy"].count(".") == 2
