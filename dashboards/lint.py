"""Rules that every board keeps; each complaint names board, panel and rule."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from dashboards.model import Show
from dashboards.render import COLUMNS
from telemetry.catalogue import Kind, metrics

# Series that Fabricscope itself writes beside the catalogue's.
OWN_SERIES = {"up", "scrape_duration_seconds", "fabricscope_incident", "fabricscope_incident_gpu_seconds_total"}
_WORDS = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_BRACES = re.compile(r"\{[^}]*\}")
_VARIABLE = re.compile(r"\$(?!__)([a-zA-Z]\w*)")
_RANGES = re.compile(r"\[[^\]]*\]")
_CALLED = re.compile(r"\b(rate|increase|sum)\s*\(")
_CHOSEN = re.compile(r"\b(topk|bottomk)\(")
_OF_COUNTERS = ("rate", "increase")
_FUNCTIONS = {
    *(
        "rate",
        "increase",
        "max_over_time",
        "min_over_time",
        "last_over_time",
        "end",
        "max",
        "min",
        "avg",
        "sum",
        "count",
        "topk",
        "bottomk",
        "time",
        "timestamp",
        "vector",
        "label_replace",
    ),
    *("or", "and", "unless", "bool"),
}


def complain(boards: list[dict[str, Any]]) -> list[str]:
    """All complaints about all boards; [] when they keep every rule."""
    return [*_unique(boards), *(complaint for board in boards for complaint in _board(board))]


def _unique(boards: list[dict[str, Any]]) -> Iterator[str]:
    for key in ("uid", "title"):
        values = [board[key] for board in boards]
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield f"{value}: two boards with this {key}"


def _board(board: dict[str, Any]) -> Iterator[str]:
    panels = board["panels"]
    ids = [panel["id"] for panel in panels]
    if len(set(ids)) < len(ids):
        yield f"{board['uid']}: panel ids are not unique"
    for one, other in combinations(panels, 2):
        if _overlap(one["gridPos"], other["gridPos"]):
            yield f"{board['uid']}: panels {one['id']} and {other['id']} overlap"
    for variable in board["templating"]["list"]:
        if variable["type"] == "query" and (variable["refresh"] != 2 or not variable["includeAll"]):
            yield f"{board['uid']}: variable {variable['name']} must offer All and reload with the time range"
    known = {variable["name"] for variable in board["templating"]["list"]}
    for panel in panels:
        for name in sorted(_variables_in(panel) - known):
            yield f"{board['uid']} panel {panel['id']}: variable ${name} is not on this board"
        for complaint in _panel(panel):
            yield f"{board['uid']} panel {panel['id']}: {complaint}"


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
        if panel["type"] == Show.LINES and _CHOSEN.search(expr) and "@ end()" not in expr:
            yield f"topk() chooses other lines at every step, expected queries.worst: {expr}"
        for name in sorted(metrics_named(expr) - OWN_SERIES - set(metrics())):
            yield f"{name} is not in the metric catalogue"
        yield from _misused(expr)


def _misused(expr: str) -> Iterator[str]:
    """Functions without meaning for the metrics they are applied to."""
    for function, inside in _calls(_without_noise(expr)):
        for name in sorted(metrics_named(inside)):
            kind = metrics()[name].kind if name in metrics() else None
            if kind is Kind.PEAK:
                yield f"{function}() of {name}, which is a peak"
            elif function in _OF_COUNTERS and not (kind is Kind.COUNTER or _own_counter(name)):
                yield f"{function}() of {name}, which is no counter"


def _own_counter(name: str) -> bool:
    return name in OWN_SERIES and name.endswith("_total")


def _calls(expr: str) -> Iterator[tuple[str, str]]:
    """Each function with the text in its parentheses.

    >>> list(_calls("sum  (rate(a)) / rate(b)"))
    [('sum', 'rate(a)'), ('rate', 'a'), ('rate', 'b')]
    """
    for call in _CALLED.finditer(expr):
        depth, end = 1, call.end()
        while depth and end < len(expr):
            depth += {"(": 1, ")": -1}.get(expr[end], 0)
            end += 1
        yield call[1], expr[call.end() : end - 1]


def _variables_in(panel: dict[str, Any]) -> set[str]:
    return {name for target in panel["targets"] for name in _VARIABLE.findall(target["expr"])}


def metrics_named(expr: str) -> set[str]:
    """The metrics that an expression reads.

    >>> sorted(metrics_named('topk(3, sum by (device) (rate(a_total{x="b"}[5m])) / c_bytes > 0)'))
    ['a_total', 'c_bytes']
    """
    return set(_WORDS.findall(_without_noise(expr))) - _FUNCTIONS


def _without_noise(expr: str) -> str:
    for noise in (_QUOTED, _BRACES, _RANGES, _GROUPING):
        expr = noise.sub(" ", expr)
    return expr


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (apart_x or apart_y)
