"""Rules that every board keeps; each complaint names board, panel and rule."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from dashboards.expressions import calls, metrics_named, unknown_metrics
from dashboards.lint_links import complain_about_links
from dashboards.lint_panels import complain_about_look
from dashboards.model import Level, Show
from dashboards.own_series import OWN_SERIES
from dashboards.render import COLUMNS
from telemetry.catalogue import Kind, metrics

ANNOTATIONS = frozenset(
    {"Incidents", "Ends of incidents", "Changes", "Drains", "Restarts of Fabricscope", "Gaps in collection"}
)
_VARIABLE = re.compile(r"\$(?!__)([a-zA-Z]\w*)")
_CHOSEN = re.compile(r"\b(topk|bottomk)\(")
_OWN_UP = re.compile(r"\bup\{([^}]*)\}")
_OF_COUNTERS = ("rate", "increase")


def complain(boards: list[dict[str, Any]]) -> list[str]:
    """All complaints about all boards; [] when they keep every rule."""
    return [
        *_unique(boards),
        *(complaint for board in boards for complaint in _board(board)),
        *complain_about_links(boards),
    ]


def _unique(boards: list[dict[str, Any]]) -> Iterator[str]:
    for key in ("uid", "title"):
        values = [board[key] for board in boards]
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield f"{value}: two boards with this {key}"


def _board(board: dict[str, Any]) -> Iterator[str]:
    panels, uid = board["panels"], board["uid"]
    ids = [panel["id"] for panel in panels]
    if len(set(ids)) < len(ids):
        yield f"{uid}: panel ids are not unique"
    for one, other in combinations(panels, 2):
        if _overlap(one["gridPos"], other["gridPos"]):
            yield f"{uid}: panels {one['id']} and {other['id']} overlap"
    if missing := ANNOTATIONS - {annotation["name"] for annotation in board["annotations"]["list"]}:
        yield f"{uid}: annotations are missing: {', '.join(sorted(missing))}"
    yield from (f"{uid}: {complaint}" for complaint in _variables(board))
    known = {variable["name"] for variable in board["templating"]["list"]}
    for panel in panels:
        for name in sorted(_variables_in(panel) - known):
            yield f"{uid} panel {panel['id']}: variable ${name} is not on this board"
        for complaint in (*_panel(panel), *complain_about_look(panel)):
            yield f"{uid} panel {panel['id']}: {complaint}"


def _variables(board: dict[str, Any]) -> Iterator[str]:
    of_an_object = Level.OBJECT in board["tags"]
    for variable in board["templating"]["list"]:
        if variable["type"] != "query":
            continue
        every = variable.get("includeAll") and variable.get("allValue") == ".*"
        single = of_an_object and not variable.get("includeAll") and not variable.get("multi")
        if variable["refresh"] != 2 or not (every or single):
            yield f"variable {variable['name']} must offer All as .* and reload with the time range"


def _panel(panel: dict[str, Any]) -> Iterator[str]:
    defaults = panel["fieldConfig"]["defaults"]
    if not panel.get("title") or not panel.get("description") or not defaults.get("unit"):
        yield "title, description and unit are needed"
    if panel["gridPos"]["x"] + panel["gridPos"]["w"] > COLUMNS:
        yield f"wider than {COLUMNS} columns"
    if panel["datasource"].get("uid") != "${datasource}":
        yield "its data source is not the variable"
    for target in panel["targets"]:
        expr = target["expr"]
        if "rate(" in expr and "[$__rate_interval]" not in expr:
            yield f"rate() without $__rate_interval: {expr}"
        if panel["type"] in (Show.LINES, Show.STATES) and _CHOSEN.search(expr) and "@ end()" not in expr:
            yield f"topk() chooses other lines at every step, expected queries.worst: {expr}"
        for matchers in _OWN_UP.findall(expr):
            if "target" not in matchers and "job=" not in matchers:
                yield f'up has series of everything that Prometheus scrapes, expected target!="" or a job: {expr}'
        for name in unknown_metrics(expr):
            yield f"{name} is not in the metric catalogue"
        yield from _misused(expr)


def _misused(expr: str) -> Iterator[str]:
    """Functions without meaning for the metrics they are applied to."""
    for function, inside in calls(expr):
        for name in sorted(metrics_named(inside)):
            kind = metrics()[name].kind if name in metrics() else None
            if kind is Kind.PEAK:
                yield f"{function}() of {name}, which is a peak"
            elif function in _OF_COUNTERS and not (kind is Kind.COUNTER or _own_counter(name)):
                yield f"{function}() of {name}, which is no counter"


def _own_counter(name: str) -> bool:
    return name in OWN_SERIES and name.endswith("_total")


def _variables_in(panel: dict[str, Any]) -> set[str]:
    return {name for target in panel["targets"] for name in _VARIABLE.findall(target["expr"])}


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (apart_x or apart_y)
