"""Our panels as Grafana's JSON: placement, normalisation, and what grafanalib alone would get wrong."""

from typing import Any

import pytest

from dashboards.model import BAD, GOOD, NEUTRAL, WARN, Board, DrillDown, Level, Panel, Query, Show, Step, Variable
from dashboards.normalise import normalise
from dashboards.panels import constant, every, falling, highest, lines, lowest_of, rising, stat, states, table
from dashboards.queries import (
    cabled,
    down,
    lowest,
    not_whole,
    of_jobs,
    pause_ratio,
    rate,
    summed_rate,
    with_index,
    worst,
)
from dashboards.render import place, render_board
from dashboards.scopes import GPUS, ONE_GPU, OPENS_PORT, PORTS
from telemetry.catalogue import metrics
from telemetry.incidents import Severity

UP = Query("up", "{{device}}")


def sized(*sizes: tuple[int, int]) -> tuple[Panel, ...]:
    return tuple(lines(n, "t", "s", "d", UP, width=w, height=h) for n, (w, h) in enumerate(sizes))


@pytest.mark.parametrize(
    ("sizes", "corners"),
    [
        ([], []),
        ([(12, 8), (12, 8)], [(0, 0), (12, 0)]),
        ([(12, 8), (13, 8)], [(0, 0), (0, 8)]),  # no room beside the first
        ([(8, 4), (8, 10), (8, 6), (24, 8)], [(0, 0), (8, 0), (16, 0), (0, 10)]),  # below the highest of its row
        ([(24, 1), (24, 2), (24, 3)], [(0, 0), (0, 1), (0, 3)]),
    ],
)
def test_panels_are_placed_row_by_row(sizes, corners):
    assert [(at.x, at.y) for at in place(sized(*sizes))] == corners


def test_places_keep_the_size_of_the_panel():
    (at,) = place(sized((7, 5)))
    assert (at.w, at.h) == (7, 5)


@pytest.mark.parametrize(
    ("panel", "show", "unit", "queries"),
    [
        (lines(1, "t", "W", "d", UP, UP), Show.LINES, "W", (UP, UP)),
        (stat(1, "t", "s", "d", UP), Show.STAT, "s", (UP,)),
        (table(1, "t", "none", "d", "up"), Show.TABLE, "none", (Query("up"),)),
        (states(1, "t", "d", UP), Show.STATES, "none", (UP,)),
    ],
)
def test_panel_builders(panel, show, unit, queries):
    assert (panel.id, panel.title, panel.description) == (1, "t", "d")
    assert (panel.show, panel.unit, panel.queries) == (show, unit, queries)
    assert (panel.width, panel.height, panel.steps) == (12, 8, NEUTRAL)


def test_rising_values_turn_from_good_to_bad():
    assert rising(bad=1) == (Step(None, GOOD), Step(1, BAD))
    assert rising(warn=0.5, bad=1) == (Step(None, GOOD), Step(0.5, WARN), Step(1, BAD))


def test_falling_values_turn_from_good_to_bad():
    assert falling(bad=0.9, warn=1) == (Step(None, BAD), Step(0.9, WARN), Step(1, GOOD))


@pytest.mark.parametrize(
    ("expr", "written"),
    [
        (rate("a_total", 'x="1"'), 'rate(a_total{x="1"}[$__rate_interval])'),
        (rate("a_total", 'x="1"', side="server"), 'rate(a_total{x="1",side="server"}[$__rate_interval])'),
        (summed_rate("device", "a_total", 'x="1"'), 'sum by (device) (rate(a_total{x="1"}[$__rate_interval]))'),
        (worst("a"), "(a) and topk(10, max_over_time((a)[$__range:$__interval] @ end()) > 0)"),
        (worst("a", 3), "(a) and topk(3, max_over_time((a)[$__range:$__interval] @ end()) > 0)"),
        (lowest("a", 3), "(a) and bottomk(3, min_over_time((a)[$__range:$__interval] @ end()))"),
        (not_whole("a", 3), "(a) and bottomk(3, min_over_time((a)[$__range:$__interval] @ end()) < 1)"),
        (
            pause_ratio("rx", 'x="1"'),
            "max by (cluster, device, port) "
            '(rate(fabric_port_pfc_pause_seconds_total{x="1",direction="rx"}[$__rate_interval]))',
        ),
        (rate("a_total", 'x="1"', op="~r|w", kind="!z"), 'rate(a_total{x="1",op=~"r|w",kind!="z"}[$__rate_interval])'),
        (cabled("a", "x"), "a{x} and on (cluster, device, port) max_over_time(a{x}[1d]) == 1"),
        (down("a", "x"), "(a{x} and on (cluster, device, port) max_over_time(a{x}[1d]) == 1) == 0"),
        (
            of_jobs("a"),
            'fabricscope_job_node{cluster=~"$cluster",replay=~"$replay",job_id=~"$job"} '
            "* on (cluster, device) group_left () (a)",
        ),
    ],
)
def test_queries(expr, written):
    assert expr == written


def test_a_panel_of_a_metric_says_what_the_catalogue_says():
    panel = highest(1, "Marks", PORTS, "fabric_port_ecn_marked_packets_total", "Normal: 0.")
    assert panel.title == "Marks (packets/s, 10 highest ports)"
    assert panel.description == metrics()["fabric_port_ecn_marked_packets_total"].help + " Normal: 0."
    assert (panel.unit, panel.drill_down) == ("pps", OPENS_PORT)
    (query,) = panel.queries
    rated = f"sum by (cluster, device, port) ({rate('fabric_port_ecn_marked_packets_total', PORTS.labels)})"
    assert (query.expr, query.legend) == (worst(rated), "{{device}} {{port}}")


def test_of_a_gauge_the_lowest_value_of_an_object_counts_where_the_lowest_are_shown():
    (query,) = lowest_of(1, "Light", PORTS, "fabric_port_optical_power_dbm", "", by=("lane",)).queries
    assert query.expr == lowest(
        f"min by (cluster, device, port, lane) (fabric_port_optical_power_dbm{{{PORTS.labels}}})"
    )
    assert query.legend == "{{device}} {{port}} {{lane}}"


def test_gpus_are_called_by_their_index():
    (query,) = every(1, "Power", GPUS, "gpu_power_watts", "").queries
    assert query.expr == with_index(f"max by (cluster, device, gpu) (gpu_power_watts{{{GPUS.labels}}})")
    assert query.legend == "{{device}} GPU {{index}}"


@pytest.mark.parametrize(
    ("name", "metric", "legend"),
    [("PCIe replays", "gpu_pcie_replays_total", "PCIe replays"), ("Power", "gpu_power_watts", "power")],
)
def test_a_line_without_a_name_is_called_like_its_panel(name, metric, legend):
    (query,) = every(1, name, ONE_GPU, metric, "").queries
    assert query.legend == legend


def test_a_line_may_have_the_colour_of_its_meaning():
    panel = rendered(lines(1, "t", "s", "d", UP, colours={"critical": BAD}))
    (override,) = panel["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byName", "options": "critical"}
    assert override["properties"] == [{"id": "color", "value": {"mode": "fixed", "fixedColor": BAD}}]


def test_a_table_is_sorted_by_a_label_that_it_does_not_show():
    panel = rendered(table(1, "t", "none", "d", "up", columns={"device": "Device"}, sort_by="order"))
    filtered, ordered, organised = panel["transformations"]
    assert filtered["options"]["include"]["names"] == ["device", "order"]
    assert ordered == {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": "order"}]}}
    assert organised["options"]["excludeByName"] == {"order": True}


def test_an_axis_of_shares_that_are_all_zero_does_not_go_to_10000_percent():
    custom = defaults(lines(1, "t", "percentunit", "d", UP))["custom"]
    assert (custom["axisSoftMin"], custom["axisSoftMax"]) == (0, 0.1)
    assert "axisSoftMax" not in defaults(lines(1, "t", "s", "d", UP))["custom"]


def test_a_limit_is_written_as_prometheus_reads_it():
    assert constant(2.4e-4, "limit") == Query("vector(0.00024)", "limit")


def rendered(panel: Panel) -> dict[str, Any]:
    board = render_board(
        Board(
            "b", "Board", "", Level.WALL, (), (Variable("cluster", "Cluster", "label_values(up, cluster)"),), (panel,)
        )
    )
    (found,) = board["panels"]
    return dict(found)


def defaults(panel: Panel) -> dict[str, Any]:
    return dict(rendered(panel)["fieldConfig"]["defaults"])


@pytest.mark.parametrize(
    ("panel", "instant", "form"),
    [
        (lines(1, "t", "s", "d", UP), False, "time_series"),
        (states(1, "t", "d", UP), False, "time_series"),
        (stat(1, "t", "s", "d", UP), True, "time_series"),
        (table(1, "t", "s", "d", "up"), True, "table"),
    ],
)
def test_tables_and_stats_ask_for_the_newest_value_only(panel, instant, form):
    (target,) = rendered(panel)["targets"]
    assert (target["instant"], target["format"], target["refId"]) == (instant, form, "A")


def test_a_limit_is_one_more_query_drawn_dashed():
    panel = rendered(lines(1, "t", "s", "d", UP, limit=Query("max(up)", "limit")))
    assert [target["refId"] for target in panel["targets"]] == ["A", "B"]
    (override,) = panel["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byName", "options": "limit"}
    properties = {each["id"]: each.get("value") for each in override["properties"]}
    assert properties["custom.lineStyle"]["fill"] == "dash"
    assert "links" in properties
    assert properties["links"] is None, "it has no labels that would fill one"


def test_the_first_threshold_keeps_its_null():
    """Null is minus infinity there; elsewhere nulls are left out."""
    steps = defaults(lines(1, "t", "s", "d", UP, steps=rising(bad=1)))["thresholds"]
    assert steps == {"mode": "absolute", "steps": [{"value": None, "color": GOOD}, {"value": 1, "color": BAD}]}


def test_bounds_and_decimals_are_set_only_when_asked_for():
    assert not {"min", "max", "decimals"} & defaults(lines(1, "t", "s", "d", UP)).keys()
    found = defaults(lines(1, "t", "s", "d", UP, maximum=1.0, decimals=0))
    assert (found["min"], found["max"], found["decimals"]) == (0, 1.0, 0)


SHARED = "?${__url_time_range}&${datasource:queryparam}&${cluster:queryparam}"


@pytest.mark.parametrize(
    ("drill_down", "address"),
    [
        (DrillDown("fabricscope-gpu"), f"fabricscope-gpu{SHARED}"),
        (DrillDown("b", ("device",)), f"b{SHARED}&var-device=${{__field.labels.device:percentencode}}"),
        (
            DrillDown("b", ("job",)),
            f"b{SHARED}&var-job=${{__field.labels.job_id:percentencode}}",
        ),  # the label is not called job
    ],
)
def test_a_drill_down_keeps_time_range_and_cluster(drill_down, address):
    (link,) = defaults(lines(1, "t", "s", "d", UP, drill_down=drill_down))["links"]
    assert link["url"] == f"/d/{address}"
    assert link["targetBlank"] is False


@pytest.mark.parametrize(
    ("drill_down", "address"),
    [
        (DrillDown("b", ("device",)), f"b{SHARED}&var-device=${{__data.fields.device:percentencode}}"),
        (DrillDown("board", by_column=True), "${__data.fields.board}" + SHARED),
    ],
)
def test_a_drill_down_of_a_table_takes_what_its_row_says(drill_down, address):
    """Labels of a table are its columns: there is no ``__field.labels``."""
    (link,) = defaults(table(1, "t", "s", "d", "up", drill_down=drill_down))["links"]
    assert link["url"] == f"/d/{address}"


FINDING = Query("fabricscope_finding_active")


@pytest.mark.parametrize(
    ("panel", "text"),
    [
        (lines(1, "t", "s", "d", UP), "no data"),
        (lines(1, "t", "s", "d", Query(worst("a"))), "none above 0"),
        (lines(1, "t", "s", "d", Query(worst("a")), UP), "no data"),
        (states(1, "t", "d", FINDING), "none"),
        (table(1, "t", "s", "d", "up"), "none"),
    ],
)
def test_an_empty_list_of_what_is_wrong_is_no_lack_of_data(panel, text):
    assert defaults(panel)["noValue"] == text


def test_states_have_texts_and_colours():
    (mapping,) = defaults(states(1, "t", "d", UP, states={0: ("down", BAD), 1: ("up", GOOD)}))["mappings"]
    assert mapping["options"] == {
        "0": {"text": "down", "color": BAD, "index": 0},
        "1": {"text": "up", "color": GOOD, "index": 1},
    }


def test_states_have_the_same_colours_as_steps():
    steps = defaults(states(1, "t", "d", UP, states={0: ("down", BAD), 1: ("up", GOOD)}))["thresholds"]["steps"]
    assert steps == [{"value": None, "color": BAD}, {"value": 1, "color": GOOD}]


def variable_of(**values: Any) -> dict[str, Any]:
    board = Board("b", "Board", "", Level.OBJECT, (), (Variable("device", "Switch", "query", **values),), ())
    return dict(render_board(board)["templating"]["list"][1])


def test_a_variable_offers_all_unless_it_is_of_one_object():
    every_one = variable_of()
    assert (every_one["includeAll"], every_one["multi"], every_one["allValue"]) == (True, True, ".*")
    assert every_one["current"]["value"] == ["$__all"]
    one = variable_of(single=True, pattern='/a="(?<text>.*)"/')
    assert (one["includeAll"], one["multi"], one["regex"], one["current"]) == (False, False, '/a="(?<text>.*)"/', {})


@pytest.mark.parametrize(
    ("level", "titles"),
    [
        (Level.WALL, ["Domains", "Objects"]),
        (Level.DOMAIN, ["NOC wall", "Domains", "Objects"]),
        (Level.OBJECT, ["NOC wall", "Domains", "Objects"]),
    ],
)
def test_a_board_links_down_and_back(level, titles):
    links = render_board(Board("b", "Board", "", level, (), (), ()))["links"]
    assert [link["title"] for link in links] == titles
    assert all(link["keepTime"] and link["includeVars"] for link in links)
    assert links[-1]["tags"] == ["fabricscope", "object"]


def test_a_table_shows_its_columns_in_order_and_hides_the_rest():
    shown, order = rendered(table(1, "t", "s", "d", "up", columns={"device": "Host", "Value": "Up"}))["transformations"]
    assert shown["options"]["include"]["names"] == ["device", "Value"]
    assert order["options"]["indexByName"] == {"device": 0, "Value": 1}
    assert order["options"]["renameByName"] == {"device": "Host", "Value": "Up"}


class Json:
    """As grafanalib's objects: their JSON on request."""

    def __init__(self, value: object) -> None:
        self._value = value

    def to_json_data(self) -> object:
        return self._value


def grafanalibs(**values: object) -> dict[str, Any]:
    variable = {"name": "cluster", "type": "query", "query": "label_values(up, cluster)", "useTags": False}
    variable["includeAll"] = True
    return {
        "panels": [],
        "templating": {"list": [variable]},
        "timepicker": {"time_options": [], "hidden": False},
        **values,
    }


@pytest.mark.parametrize(
    ("key", "given", "kept"),
    [
        ("title", "t", "t"),
        ("refresh", Json("5s"), "5s"),
        ("tags", ("a", "b"), ["a", "b"]),
        ("time", Json({"from": "now-1h", "to": Json("now")}), {"from": "now-1h", "to": "now"}),
        ("links", [Json({"url": "/", "icon": None})], [{"url": "/"}]),
        ("custom", {"value": None, "color": "red"}, {"value": None, "color": "red"}),
        ("custom", {"value": None, "other": "red"}, {"other": "red"}),
    ],
)
def test_normalised_values_are_plain_and_without_nulls(key, given, kept):
    assert normalise(grafanalibs(**{key: given}))[key] == kept


@pytest.mark.parametrize("dead", ["rows", "hideControls", "style", "__inputs", "gnetId", "timePicker"])
def test_keys_of_grafanas_past_are_gone(dead):
    assert dead not in normalise(grafanalibs(**{dead: 1}))


def test_panels_targets_and_variables_lose_their_dead_keys_too():
    panel = {"id": 1, "thresholds": "1,2", "span": 4, "targets": [{"expr": "up", "metric": "", "step": 10}]}
    found = normalise(grafanalibs(panels=[panel]))
    assert found["panels"] == [{"id": 1, "targets": [{"expr": "up"}]}]
    assert found["timepicker"] == {"hidden": False}
    (variable,) = found["templating"]["list"]
    assert "useTags" not in variable
    assert variable["query"] == {"query": "label_values(up, cluster)", "refId": "variable-cluster"}
    assert variable["current"]["value"] == ["$__all"]


def test_the_document_of_grafanalib_is_not_changed():
    given = grafanalibs(panels=[{"id": 1, "targets": [], "span": 4}])
    normalise(given)
    assert given == grafanalibs(panels=[{"id": 1, "targets": [], "span": 4}])


def test_cells_have_the_colour_of_the_severity_that_they_name():
    found = rendered(table(1, "t", "none", "d", "up", columns={"severity": "How bad", "other": "What"}))
    override, width = found["fieldConfig"]["overrides"]
    assert width["properties"][0]["id"] == "custom.width"
    assert override["matcher"] == {"id": "byName", "options": "How bad"}
    mapped, cells = (each["value"] for each in override["properties"])
    colours = {severity: shown["color"] for severity, shown in mapped[0]["options"].items()}
    assert colours.keys() == {str(severity) for severity in Severity}
    assert len(set(colours.values())) == len(colours)
    assert cells["type"] == "color-background"
    assert rendered(table(1, "t", "none", "d", "up", columns={"other": "What"}))["fieldConfig"]["overrides"] == []
