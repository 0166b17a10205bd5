"""Boards of our own making, drawn by Grafana's code: a sound one has no fault, and each fault is found."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.acceptance.drawn_boards import faults
from tests.servers.grafana_preview import BoardPage, Drawing, DrawnPanel, bundle_page

FROM_S, STEP_S, SAMPLES = 1_800_000_000, 15, 20
UP_AND_DOWN = {"1": {"text": "up", "color": "green", "index": 0}, "0": {"text": "down", "color": "red", "index": 1}}
BOARDS = {"own", "other"}


def panel(kind: str, **changes: Any) -> dict[str, Any]:
    """One that has no fault. changes: by the key of its JSON; ``defaults`` for those of its fields."""
    defaults = {"unit": "short", "noValue": "nothing", **changes.pop("defaults", {})}
    given = {"type": kind, "title": "Values (now)", "fieldConfig": {"defaults": defaults, "overrides": []}}
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "values": False, "fields": ""}, "orientation": "auto"}
    return {**given, "options": options, **changes}


def answer(*names: str, values: tuple[int, ...] = (1, 0), instant: bool = False, **changes: Any) -> dict[str, Any]:
    """One series a name, whose values come by turns."""
    times = [FROM_S + STEP_S * number for number in range(SAMPLES)]
    points = [[time, str(values[number % len(values)])] for number, time in enumerate(times)]
    result = [
        {"metric": {"name": name}, **({"value": points[-1]} if instant else {"values": points})} for name in names
    ]
    asked = {"refId": "A", "legendFormat": "{{name}}", "format": "time_series", "stepMs": STEP_S * 1000}
    return {**asked, "result": result, **changes}


def document(*drawn: tuple[dict[str, Any], dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A board of panels below each other, with what each is answered."""
    panels = [
        {"id": number, "gridPos": {"x": 0, "y": 8 * number, "w": 12, "h": 8}, **one}
        for number, (one, _) in enumerate(drawn, 1)
    ]
    variables = [{"name": "cluster", "label": "Cluster", "value": "$__all", "text": "All", "expression": ".*"}]
    times = {"fromMs": FROM_S * 1000, "toMs": (FROM_S + STEP_S * (SAMPLES - 1)) * 1000}
    answers = {number: [given] for number, (_, given) in enumerate(drawn, 1)}
    board = {"uid": "own", "title": "Own", "panels": panels}
    return {"board": board, "answers": answers, "annotations": [], "variables": variables, **times, **changes}


def table(names: list[str]) -> dict[str, Any]:
    """A table of the columns named."""
    return panel("table", transformations=[{"id": "filterFieldsByName", "options": {"include": {"names": names}}}])


def linked(url: str) -> dict[str, Any]:
    return panel("timeseries", defaults={"links": [{"title": "there", "url": url, "targetBlank": False}]})


SOUND = [
    (panel("stat"), answer("a", "b", instant=True)),
    (panel("timeseries", title="Values (10 highest)"), answer("a", "b")),
    (panel("bargauge"), answer("a", "b", instant=True)),
    (panel("state-timeline", defaults={"mappings": [{"type": "value", "options": UP_AND_DOWN}]}), answer("a", "b")),
    (panel("status-history", defaults={"mappings": [{"type": "value", "options": UP_AND_DOWN}]}), answer("a", "b")),
    (table(["name", "Value"]), answer("a", "b", instant=True, format="table")),
    (panel("text", options={"mode": "markdown", "content": "**Read** the runbook."}), answer()),
    (panel("timeseries", title="Values of $cluster (none)"), answer()),
    (linked("/d/other?${__url_time_range}&${cluster:queryparam}&var-name=${__field.labels.name}"), answer("a")),
]
FAULTY = {
    "no way to draw a panel of type heatmap": (panel("heatmap"), answer("a")),
    '"no such" not found': (panel("table", transformations=[{"id": "no such", "options": {}}]), answer("a")),
    "shows 'nothing', the query has 1 series": (table(["no such label"]), answer("a", instant=True, format="table")),
    "legend is cut: 'a long name": (panel("timeseries"), answer("a long name " * 40)),
    "legend takes 2": (panel("timeseries"), answer(*(f"a name of some length {n}" for n in range(60)))),
    "title is cut: 'a long title": (panel("stat", title="a long title " * 40), answer("a", instant=True)),
    "body is cut: 'a long cell": (table(["name", "Value"]), answer("a long cell " * 40, instant=True, format="table")),
    "states 1, 0 have one colour": (
        panel("state-timeline", defaults={"color": {"mode": "fixed", "fixedColor": "blue"}}),
        answer("a", "b"),
    ),
    "draws 3": (panel("timeseries", title="Values (2 worst)"), answer("a", "b", "c")),
    "/d/own?a=1 leads to the board itself": (linked("/d/own?a=1"), answer("a")),
    "/d/none?a=1 leads to no board": (linked("/d/none?a=1"), answer("a")),
    "leaves var-x open": (linked("/d/other?var-x=${__field.labels.none}"), answer("a")),
    "the page asks for http://elsewhere.invalid/a.png": (
        panel("text", options={"mode": "html", "content": "<img src='http://elsewhere.invalid/a.png'>"}),
        answer(),
    ),
}


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_page(tmp_path_factory.mktemp("page"))


async def draw(browser: Browser, page_folder: Path, tmp_path: Path, given: dict[str, Any]) -> Drawing:
    page = await BoardPage.open(browser, page_folder)
    return await page.draw(given, tmp_path / "board.png")


async def test_a_sound_board_has_no_fault(browser, page_folder, tmp_path):
    given = document(*SOUND)
    assert faults(await draw(browser, page_folder, tmp_path, given), given, BOARDS) == []


async def test_each_fault_of_a_panel_is_found(browser, page_folder, tmp_path):
    given = document(*FAULTY.values())
    found = faults(await draw(browser, page_folder, tmp_path, given), given, BOARDS)
    assert [words for words in FAULTY if not any(words in one for one in found)] == []


async def test_panels_over_each_other_are_found(browser, page_folder, tmp_path):
    given = document(*SOUND[:2])
    given["board"]["panels"][1]["gridPos"] = {"x": 6, "y": 8, "w": 12, "h": 8}
    drawing = await draw(browser, page_folder, tmp_path, given)
    assert faults(drawing, given, BOARDS) == ["panels 1 and 2 over each other"]


async def test_annotations_that_hide_the_lines_are_found(browser, page_folder, tmp_path):
    regions = [{"fromMs": FROM_S * 1000, "toMs": FROM_S * 1000 + 60_000, "text": ""}] * 4
    given = document(SOUND[1], annotations=[{"name": "incidents", "colour": "red", "regions": regions}])
    drawing = await draw(browser, page_folder, tmp_path, given)
    assert faults(drawing, given, BOARDS) == ["4 annotations cover the lines at once"]


async def test_what_a_panel_shows_is_what_the_board_says(browser, page_folder, tmp_path):
    """Units, mappings, thresholds, overrides, names and addresses, by Grafana's own rules."""
    steps = [{"value": None, "color": "#00FF00"}, {"value": 1, "color": "#FF0000"}]
    override = {"matcher": {"id": "byName", "options": "b"}, "properties": [{"id": "unit", "value": "bps"}]}
    stat = panel("stat", defaults={"unit": "percentunit", "decimals": 1})
    stat["fieldConfig"]["overrides"] = [override]
    limits = panel("state-timeline", defaults={"thresholds": {"mode": "absolute", "steps": steps}})
    renamed = table(["name", "Value"])
    renamed["transformations"].append({"id": "organize", "options": {"renameByName": {"name": "Where"}}})
    drawn = await draw(
        browser,
        page_folder,
        tmp_path,
        document(
            (stat, answer("a", "b", values=(2_000,), instant=True)),
            (limits, answer("a", values=(0, 2))),
            (renamed, answer("a", instant=True, format="table")),
            SOUND[-1],
        ),
    )
    tiles, timeline, rows, lines = drawn.panels
    assert words(tiles) >= {"200000.0%", "2.0", "kb/s"}
    assert sorted(timeline.colours) == ["#00FF00", "#FF0000"]
    assert words(rows) >= {"Where", "Value"}
    times = f"from={FROM_S * 1000}&to={(FROM_S + STEP_S * (SAMPLES - 1)) * 1000}"
    assert [link.address for link in lines.links] == [f"/d/other?{times}&var-cluster=$__all&var-name=a"]


def words(drawn: DrawnPanel) -> set[str]:
    return set(drawn.text.split())
