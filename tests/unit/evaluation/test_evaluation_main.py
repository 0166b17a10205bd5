"""``python -m evaluation``: which parts run, and what is kept of those that do not."""

import io
import json

import pytest
from rich.console import Console

from evaluation import __main__ as program
from evaluation.families import health
from evaluation.families import run as families
from evaluation.families.family import Family, FamilySets
from evaluation.families.judge import ClusterOutcome


def chosen(*names: str) -> tuple[list[str], str]:
    """Parts, and what is printed."""
    printed = io.StringIO()
    return program.parts(names, Console(file=printed, width=120)), printed.getvalue()


def test_without_a_name_series_campaigns_and_families_run() -> None:
    assert chosen() == (["series", "campaigns", "families"], "")


def test_what_follows_families_are_its_options(tmp_path, monkeypatch) -> None:
    seen: list[families.Options] = []
    monkeypatch.setattr(program, "JSON", tmp_path / "build" / "eval.json")

    def fault_families(options: families.Options) -> list[dict[str, str]]:
        seen.append(options)
        return []

    monkeypatch.setattr(program, "fault_families", fault_families)
    program.main(["families", "--train", "--hours", "2", "--families", "one", "two"])
    assert [(each.train, each.hours, each.names) for each in seen] == [(True, 2.0, ("one", "two"))]
    assert json.loads((tmp_path / "build" / "eval.json").read_text())["families-train"] == []


def test_what_follows_health_are_its_options(tmp_path, monkeypatch) -> None:
    seen: list[health.HealthOptions] = []
    monkeypatch.setattr(program, "JSON", tmp_path / "build" / "eval.json")

    def healthy_clusters(options: health.HealthOptions) -> list[dict[str, str]]:
        seen.append(options)
        return []

    monkeypatch.setattr(program, "healthy_clusters", healthy_clusters)
    program.main(["health", "--train", "--node-days", "2"])
    assert [(each.train, each.node_days) for each in seen] == [(True, 2.0)]
    assert json.loads((tmp_path / "build" / "eval.json").read_text())["health-train"] == []


def test_a_part_with_options_is_the_last_one() -> None:
    assert program._split(["campaigns", "health", "--hosts", "8"]) == (["campaigns", "health"], ["--hosts", "8"])
    assert program._split(["series", "campaigns"]) == (["series", "campaigns"], [])


def test_labelled_needs_a_folder_with_series(tmp_path) -> None:
    assert program._split(["labelled", "some/folder"]) == (["labelled"], ["some/folder"])
    with pytest.raises(SystemExit, match="labelled: expected the folder of the series"):
        program.labelled_series()
    with pytest.raises(SystemExit, match=r"labelled: .*no labelled series, expected Parquet files"):
        program.main(["labelled", str(tmp_path)])


def test_a_family_whose_parts_are_missing_ends_the_program_with_its_name(monkeypatch) -> None:
    moebius = Family(name="odd", stands_for="a test", shape="moebius")
    monkeypatch.setattr(families, "read_families", lambda: FamilySets(train=(), report=(moebius,)))
    with pytest.raises(SystemExit, match=r"families: family odd: .*moebius"):
        program.fault_families()


def test_the_targets_are_printed_with_bounds_and_the_page_is_written(tmp_path, monkeypatch, capsys) -> None:
    outcome = ClusterOutcome("plain-leaf-side", healthy=False, seed=201, node_days=1.0, pages=4, right=3)
    monkeypatch.setattr(families, "run", lambda options, progress: [outcome])
    monkeypatch.setattr(program, "PAGES", tmp_path)
    program.fault_families()
    printed = capsys.readouterr().out
    (precision,) = (line for line in printed.splitlines() if line.startswith("| precision of pages |"))
    assert precision.startswith("| precision of pages | ≥ 0.95 | 0.75 | 0.194 | 0.994 |")
    assert precision in (tmp_path / "results-families.md").read_text()


def test_parts_run_in_the_given_order() -> None:
    assert chosen("baselines", "series") == (["baselines", "series"], "")


def test_an_old_name_is_replaced_with_a_hint() -> None:
    assert chosen("rivals") == (["baselines"], "rivals is now called baselines\n")


def test_an_unknown_part_is_an_error_that_lists_all() -> None:
    with pytest.raises(
        SystemExit,
        match=r"no part fleet, expected one of series, campaigns, families, health, collected, pictures, public",
    ):
        chosen("series", "fleet")


def test_a_part_that_is_not_run_keeps_its_rows(tmp_path, monkeypatch) -> None:
    path = tmp_path / "build" / "eval.json"
    monkeypatch.setattr(program, "JSON", path)
    monkeypatch.setattr(program, "PARTS", {"one": lambda: [{"a": 1}], "two": lambda: [{"b": None}]})
    program.main(["one"])
    program.main(["two"])
    found = json.loads(path.read_text())
    assert (found["one"], found["two"]) == ([{"a": 1}], [{"b": None}])
    assert found["versions"].keys() >= {"fabricscope", "numpy"}


def test_what_json_cannot_hold_is_null() -> None:
    assert program._plain({"a": float("nan"), "b": 1.5, "c": "x", "d": 3}) == {"a": None, "b": 1.5, "c": "x", "d": 3}


def test_pages_are_written_into_the_documentation() -> None:
    assert (program.PAGES / "README.md").is_file()
    assert {path.name for path in program.PAGES.glob("results-*.md")} == {
        f"results-{part}.md" for part in program.PARTS
    }
