"""The rules of boards: a board that keeps them all, and one that breaks each."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.expressions import metrics_named, units_of
from dashboards.lint import ANNOTATIONS, complain

Board = dict[str, Any]
UP = 'avg(up{target!=""})'


def link(uid: str = "c", filled: str = "") -> list[dict[str, str]]:
    return [{"url": f"/d/{uid}?${{__url_time_range}}{filled}"}]


def panel(number: int, **position: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": "Targets up (%, now)",
        "description": "Normal: 100 %.",
        "datasource": {"uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": "percentunit", "links": link()}},
        "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8, **position},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [{"expr": UP}],
    }


def board(**values: Any) -> Board:
    """Two panels side by side and one below, of two variables; they lead to the board c."""
    variables = [
        {"name": "datasource", "type": "datasource", "refresh": 1, "includeAll": False},
        {"name": "cluster", "type": "query", "refresh": 2, "includeAll": True, "allValue": ".*"},
    ]
    return {
        "uid": "b",
        "title": "Board",
        "tags": [],
        "panels": [panel(1), panel(2, x=12), panel(3, y=8, w=24)],
        "templating": {"list": variables},
        "annotations": {"list": [{"name": name} for name in ANNOTATIONS]},
        **values,
    }


def other_board() -> Board:
    """It has a variable for devices."""
    other = board(uid="c", title="Other", panels=[])
    other["templating"]["list"].append(
        {"name": "device", "type": "query", "refresh": 2, "includeAll": True, "allValue": ".*"}
    )
    return other


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
    return complain([changed, other_board()])


def test_a_board_that_keeps_every_rule_has_no_complaint():
    assert complain([board(), other_board()]) == []


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
        (first(fieldConfig={"defaults": {"links": link()}}), NO_TEXT),
        (first(datasource={"uid": "P1809F7CD0C75ACF3"}), ["b panel 1: its data source is not the variable"]),
        (variable(refresh=1), ["b: variable cluster must offer All as .* and reload with the time range"]),
        (variable(includeAll=False), ["b: variable cluster must offer All as .* and reload with the time range"]),
        (variable(allValue=None), ["b: variable cluster must offer All as .* and reload with the time range"]),
        (
            variable(includeAll=False, multi=False),
            ["b: variable cluster must offer All as .* and reload with the time range"],
        ),
        (
            lambda changed: changed["annotations"]["list"].remove({"name": "Changes"}),
            ["b: annotations are missing: Changes"],
        ),
        (ask('avg(up{target="a",host="$host"})'), ["b panel 1: variable $host is not on this board"]),
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
            first(targets=[{"expr": "topk(3, storage_up)"}], title="Storage (3 worst, now)"),
            ["b panel 1: topk() chooses other lines at every step, expected queries.worst: topk(3, storage_up)"],
        ),
        (
            ask("avg(up{})"),
            ['b panel 1: up has series of everything that Prometheus scrapes, expected target!="" or a job: avg(up{})'],
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
        'avg(up{cluster=~"$cluster",target!=""})',
        "rate(gpu_ecc_errors_total[$__rate_interval])",
        "max(fabric_queue_occupancy_peak_bytes)",  # a peak may be compared, but not added up
        "increase(fabricscope_incident_gpu_seconds_total[1h])",  # a counter of our own
        'label_replace(up, "job", "$1", "target", "([^/]+)/.*")',  # $1 is a group of the pattern
    ],
)
def test_expressions_that_keep_the_rules(expr):
    assert complaints(ask(expr)) == []


TWO_UNITS = [
    {"expr": "rate(fabric_port_fec_uncorrectable_codewords_total[$__rate_interval])"},
    {"expr": "rate(fabric_port_errors_total[$__rate_interval])"},
]
DOWN = 'fabric_port_up{device="a"} == 0'
BLOCK = {"unit": "none", "links": link(), "thresholds": {"steps": [{"color": "text"}]}}
COLOURED = {"thresholds": {"steps": [{"color": "red"}]}}


def mapped(*colours: str) -> dict[str, Any]:
    options = {str(value): {"text": "t", "color": colour} for value, colour in enumerate(colours)}
    return {"mappings": [{"options": options}]}


def states(**defaults: Any) -> Callable[[Board], object]:
    return first(type="state-timeline", fieldConfig={"defaults": {**BLOCK, **defaults}})


ONE_BLOCK = ["b panel 1: states without a text and a colour of their own are one block"]
SMALL_TILES = ["b panel 1: several tiles are too small to read, expected one value: sum, avg, …, or topk(1, …)"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (first(targets=TWO_UNITS), ["b panel 1: two units on one axis: codewords and packets"]),
        (
            first(options={"legend": {"displayMode": "table", "placement": "right"}}),
            ["b panel 1: a legend other than a list below the lines takes their room and cuts names"],
        ),
        (states(), ONE_BLOCK),
        (states(**COLOURED), ONE_BLOCK),
        (states(**mapped("red", "green")), ONE_BLOCK),  # what draws by steps alone would be white
        (states(**COLOURED, **mapped("red", "red")), ONE_BLOCK),
        (states(**COLOURED, **mapped("red", "green")), []),
        (first(type="stat", targets=[{"expr": "max by (device) (storage_up)"}]), SMALL_TILES),
        (first(type="stat", targets=[{"expr": "storage_up"}]), SMALL_TILES),
        (first(type="stat"), []),
        (
            first(targets=[{"expr": DOWN}]),
            [f"b panel 1: lists ports without a cable as down, expected queries.cabled or queries.down: {DOWN}"],
        ),
        (
            first(title="Ports (state, 20 at most)"),
            ["b panel 1: the title promises 20, the query chooses all"],
        ),
        (
            first(type="table", targets=[{"expr": "topk(5, storage_up)"}], title="Storage (10 worst, now)"),
            ["b panel 1: the title promises 10, the query chooses 5"],
        ),
        (
            first(type="table", targets=[{"expr": "topk(5, storage_up)"}], title="Storage (now)"),
            ["b panel 1: the query chooses 5, and the title says nothing of it"],
        ),
    ],
)
def test_each_rule_of_looks(change, expected):
    assert complaints(change) == expected


def linked(links: list[dict[str, str]], **values: Any) -> Callable[[Board], object]:
    return first(fieldConfig={"defaults": {"unit": "percentunit", "links": links}}, **values)


BY_DEVICE = [{"expr": "max by (cluster, device) (storage_up)"}]
COLUMNS = [{"options": {"include": {"names": ["device"]}}}]
AS_LABEL, AS_FIELD = (
    "&var-device=${__field.labels.device:percentencode}",
    "&var-device=${__data.fields.device:percentencode}",
)
BY_COLUMN = link("${__data.fields.board}")
BOARDS_NAMED = 'label_replace(storage_up, "board", "{}", "device", "x")'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (linked([]), ["no link to another board"]),
        (linked(link("b")), ["its link leads to its own board"]),
        (linked(link("d")), ["its link leads to d, which is no board"]),
        (linked([{"url": "/d/c?"}]), ["expected a link /d/uid? with ${__url_time_range}: /d/c?"]),
        (linked(link("c", AS_LABEL), targets=BY_DEVICE), []),
        (
            linked(link("c", "&var-device=${__field.labels.device}"), targets=BY_DEVICE),
            ["its link fills $device with a value that may hold an &, expected :percentencode"],
        ),
        (
            linked(link("c", "&var-port=${__field.labels.port:percentencode}")),
            ["its link fills $port, which c does not have"],
        ),
        (
            linked(link("c", "&var-device=${__field.labels.host:percentencode}"), targets=BY_DEVICE),
            ["its link needs the label host, which its series do not have"],
        ),
        (
            linked(link("c", AS_LABEL), targets=[{"expr": "max(storage_up)"}]),
            ["its link needs the label device, which its series do not have"],
        ),
        (linked(link("c", AS_FIELD), type="table", transformations=COLUMNS), []),
        (
            linked(link("c", AS_LABEL), type="table", transformations=COLUMNS),
            ["its link takes device from field.labels, expected the other of labels (lines) and fields (tables)"],
        ),
        (
            linked(link("c", AS_FIELD), type="table", transformations=[{"options": {"include": {"names": []}}}]),
            ["its link needs the label device, which its series do not have"],
        ),
        (linked(BY_COLUMN, type="table", targets=[{"expr": BOARDS_NAMED.format("c")}]), []),
        (
            linked(BY_COLUMN, type="table", targets=[{"expr": BOARDS_NAMED.format("x")}]),
            ["its link leads to x, which is no board"],
        ),
    ],
)
def test_each_rule_of_links(change, expected):
    assert complaints(change) == [f"b panel 1: {complaint}" for complaint in expected]


def test_a_link_takes_no_cell_that_shows_another_text():
    mapped_cell = {"matcher": {"id": "byName", "options": "Host"}, "properties": [{"id": "mappings", "value": []}]}
    columns = [*COLUMNS, {"options": {"renameByName": {"device": "Host"}}}]
    config = {"defaults": {"unit": "none", "links": link("c", AS_FIELD)}, "overrides": [mapped_cell]}
    found = complaints(first(type="table", transformations=columns, fieldConfig=config))
    assert found == ["b panel 1: its link takes the text that device is mapped to, and not its value"]


def test_a_board_of_one_object_has_variables_of_one_value():
    changed = board(tags=["object"])
    changed["templating"]["list"][1].update(includeAll=False, multi=False)
    assert complain([changed, other_board()]) == []


@pytest.mark.parametrize(
    ("expr", "units"),
    [
        ("8 * rate(fabric_port_transmit_bytes_total[1m])", {"data"}),
        ("max(fabric_port_speed_bits_per_second)", {"data"}),
        ("vector(0.05)", set()),
        ("rate(gpu_energy_joules_total[1m])", {"power"}),
        ("gpu_power_watts * on (gpu) group_left (index) gpu_info", {"power"}),
    ],
)
def test_units_that_differ_by_a_factor_are_one(expr, units):
    assert units_of(expr) == units


@pytest.mark.parametrize("key", ["uid", "title"])
def test_what_identifies_a_board_is_unique(key):
    other = other_board()
    other[key] = board()[key]
    assert complain([board(panels=[]), other]) == [f"{board()[key]}: two boards with this {key}"]


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
