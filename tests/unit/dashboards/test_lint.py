"""The rules of boards: a board that keeps them all, and one that breaks each."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.lint import complain, metrics_named

Board = dict[str, Any]
UP = "avg(up)"


def panel(number: int, **position: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": "Targets up (%, now)",
        "description": "Normal: 100 %.",
        "datasource": {"uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": "percentunit"}},
        "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8, **position},
        "targets": [{"expr": UP}],
    }


def board(**values: Any) -> Board:
    """Two panels side by side and one below, of two variables."""
    variables = [
        {"name": "datasource", "type": "datasource", "refresh": 1, "includeAll": False},
        {"name": "cluster", "type": "query", "refresh": 2, "includeAll": True},
    ]
    panels = [panel(1), panel(2, x=12), panel(3, y=8, w=24)]
    return {"uid": "b", "title": "Board", "panels": panels, "templating": {"list": variables}, **values}


def ask(expr: str) -> Callable[[Board], object]:
    """Another expression in the first panel."""
    return lambda changed: changed["panels"][0]["targets"][0].update(expr=expr)


def first(**values: Any) -> Callable[[Board], object]:
    """Other values in the first panel."""
    return lambda changed: changed["panels"][0].update(values)


def second_at(**position: int) -> Callable[[Board], object]:
    return lambda changed: changed["panels"][1]["gridPos"].update(position)


def variable(**values: Any) -> Callable[[Board], object]:
    return lambda changed: changed["templating"]["list"][1].update(values)


def complaints(change: Callable[[Board], object]) -> list[str]:
    changed = copy.deepcopy(board())
    change(changed)
    return complain([changed])


def test_a_board_that_keeps_every_rule_has_no_complaint():
    assert complain([board(), board(uid="c", title="Other")]) == []


NO_TEXT = ["b panel 1: title, description and unit are needed"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda changed: changed["panels"][1].update(id=1), ["b: panel ids are not unique"]),
        (second_at(x=11), ["b: panels 1 and 2 overlap"]),
        (second_at(y=7), ["b: panels 2 and 3 overlap"]),
        (second_at(w=13), ["b panel 2: wider than 24 columns"]),
        (first(title=""), NO_TEXT),
        (first(description=""), NO_TEXT),
        (first(fieldConfig={"defaults": {}}), NO_TEXT),
        (first(datasource={"uid": "P1809F7CD0C75ACF3"}), ["b panel 1: its data source is not the variable"]),
        (variable(refresh=1), ["b: variable cluster must offer All and reload with the time range"]),
        (variable(includeAll=False), ["b: variable cluster must offer All and reload with the time range"]),
        (ask('avg(up{host="$host"})'), ["b panel 1: variable $host is not on this board"]),
        (ask("sum(no_such_metric)"), ["b panel 1: no_such_metric is not in the metric catalogue"]),
        (
            ask("rate(gpu_ecc_errors_total[5m])"),
            ["b panel 1: rate() without $__rate_interval: rate(gpu_ecc_errors_total[5m])"],
        ),
        (
            ask("rate(gpu_power_watts[$__rate_interval])"),
            ["b panel 1: rate() of gpu_power_watts, which is no counter"],
        ),
        (
            ask("topk(3, up)"),
            ["b panel 1: topk() chooses other lines at every step, expected queries.worst: topk(3, up)"],
        ),
        (ask("increase(up[1h])"), ["b panel 1: increase() of up, which is no counter"]),
        (
            ask("rate(fabric_queue_occupancy_peak_bytes[$__rate_interval])"),
            ["b panel 1: rate() of fabric_queue_occupancy_peak_bytes, which is a peak"],
        ),
        (
            ask('sum by (device) (max(fabric_queue_occupancy_peak_bytes{port="a"}))'),
            ["b panel 1: sum() of fabric_queue_occupancy_peak_bytes, which is a peak"],
        ),
    ],
)
def test_each_rule_names_board_and_panel(change, expected):
    assert complaints(change) == expected


@pytest.mark.parametrize(
    "expr",
    [
        'avg(up{cluster=~"$cluster"})',
        "rate(gpu_ecc_errors_total[$__rate_interval])",
        "max(fabric_queue_occupancy_peak_bytes)",  # a peak may be compared, but not added up
        "increase(fabricscope_incident_gpu_seconds_total[1h])",  # a counter of our own
        'label_replace(up, "job", "$1", "target", "([^/]+)/.*")',  # $1 is a group of the pattern
    ],
)
def test_expressions_that_keep_the_rules(expr):
    assert complaints(ask(expr)) == []


@pytest.mark.parametrize("key", ["uid", "title"])
def test_what_identifies_a_board_is_unique(key):
    other = board(uid="c", title="Other")
    other[key] = board()[key]
    assert complain([board(), other]) == [f"{board()[key]}: two boards with this {key}"]


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ("a_total", {"a_total"}),
        ('sum by (device) (rate(a_total{x="b_total"}[5m])) / c_bytes', {"a_total", "c_bytes"}),
        ('label_replace(timestamp(up), "job", "$1", "target", "x")', {"up"}),
        ("a_total and on (device, port) group_left (host) b_info > bool 0", {"a_total", "b_info"}),
        ("topk(3, a:b:c)", {"a:b:c"}),
        ("vector(0)", set()),
        (r'a{x="quoted \" { brace"} + b', {"a", "b"}),
    ],
)
def test_metrics_are_found_among_functions_labels_and_texts(expr, names):
    assert metrics_named(expr) == names
