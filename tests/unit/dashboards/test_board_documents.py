"""What Grafana would ask of a Prometheus for a board, asked of one without data: ``vector`` answers at any time."""

from typing import Any

import pytest

from tests.acceptance.board_documents import Range, board_document, variable_values

SHOWN = Range(1_800_000_005, 1_800_000_125, 10)
GPU = 'label_replace(label_replace(vector(7), "gpu", "GPU-1", "", ""), "index", "3", "", "")'


def board(
    *targets: dict[str, Any], variables: list[dict[str, Any]] | None = None, annotation: str = "", step: str = "10s"
) -> dict[str, Any]:
    panel = {"id": 4, "targets": [{"refId": "A", **target} for target in targets]}
    events = [
        {"name": "events", "iconColor": "red", "expr": annotation, "titleFormat": "{{gpu}} at work", "step": step}
    ]
    return {"panels": [panel], "templating": {"list": variables or []}, "annotations": {"list": events}}


def values(prometheus, expr: str, **changes: Any) -> list[float]:
    document = board_document(board({"expr": expr, **changes.pop("target", {})}, **changes), prometheus, SHOWN)
    (series,) = document["answers"][4][0]["result"]
    return [float(value) for _, value in series.get("values", [series.get("value")])]


@pytest.mark.parametrize(
    ("macro", "value"),
    [("$__range_s", 120), ("${__interval_ms}", 10_000), ("$__rate_interval_ms", 40_000)],
)
def test_macros_are_those_of_the_time_range(prometheus, macro, value):
    assert set(values(prometheus, f"vector({macro})")) == {value}


def test_a_range_is_asked_at_multiples_of_its_step(prometheus):
    assert values(prometheus, "vector(time())") == [float(time) for time in range(1_800_000_000, 1_800_000_121, 10)]


def test_an_instant_query_is_asked_at_the_end(prometheus):
    assert values(prometheus, "vector(time())", target={"instant": True}) == [1_800_000_120]


def test_a_query_that_is_hidden_is_not_asked(prometheus):
    document = board_document(board({"expr": "not PromQL", "hide": True}), prometheus, SHOWN)
    assert document["answers"] == {4: []}


def test_what_is_no_variable_stays(prometheus):
    """``$1`` is label_replace's."""
    assert values(prometheus, 'label_replace(vector(1), "a", "$1", "b", "(.*)")') == [1.0] * 13


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"type": "datasource"}, ("prometheus", "Prometheus", "prometheus")),
        ({"type": "query", "includeAll": True, "allValue": ".*"}, ("$__all", "All", ".*")),
        ({"type": "custom", "current": {"value": "5m"}}, ("5m", "5m", "5m")),
        ({"type": "query", "query": {"query": f"query_result({GPU})"}, "regex": '/gpu="(.+?)"/'}, ("GPU-1",) * 3),
    ],
)
def test_a_variable_stands_at_its_default(prometheus, variable, expected):
    (found,) = board_document(board(variables=[{"name": "x", **variable}]), prometheus, SHOWN)["variables"]
    assert (found["value"], found["text"], found["expression"]) == expected


def test_a_query_is_filled_with_the_variables_before_it(prometheus):
    variables = [{"name": "number", "type": "custom", "current": {"value": "7"}}]
    assert set(values(prometheus, "vector(${number})", variables=variables)) == {7}


def test_a_variable_without_a_value_is_an_error(prometheus):
    variables = [{"name": "port", "type": "query", "query": {"query": "label_values(no_such_metric, port)"}}]
    with pytest.raises(ValueError, match=r"port: label_values\(no_such_metric, port\) has no value"):
        board_document(board(variables=variables), prometheus, SHOWN)


def test_a_regex_takes_value_and_text_out_of_a_result(prometheus):
    regex = '/gpu="(?<value>[^"]+)".*index="(?<text>[^"]+)"/'
    assert variable_values(prometheus, f"query_result({GPU})", regex) == [("GPU-1", "3")]
    assert variable_values(prometheus, f"query_result({GPU})", "/no such/") == []


def test_a_variable_of_another_kind_of_query_is_refused(prometheus):
    with pytest.raises(ValueError, match="expected label_values"):
        variable_values(prometheus, "metrics(up)")


def test_samples_of_an_annotation_without_a_gap_are_one_region(prometheus):
    document = board_document(board(annotation=f"{GPU} and on () (vector(time()) % 60 < 30)"), prometheus, SHOWN)
    (annotation,) = document["annotations"]
    start_ms = 1_800_000_000_000
    assert annotation["colour"] == "red"
    assert [
        (region["fromMs"] - start_ms, region["toMs"] - start_ms, region["text"]) for region in annotation["regions"]
    ] == [
        (0, 20_000, "GPU-1 at work"),
        (60_000, 80_000, "GPU-1 at work"),
        (120_000, 120_000, "GPU-1 at work"),
    ]


def test_an_annotation_is_asked_at_its_own_step(prometheus):
    """A sample that is alone at that step is a moment, however many there are between."""
    given = board(annotation="vector(time()) % 60 < 30", step="1m")
    (annotation,) = board_document(given, prometheus, SHOWN)["annotations"]
    assert [region["toMs"] - region["fromMs"] for region in annotation["regions"]] == [120_000]
    given = board(annotation="vector(time()) % 120 < 30", step="1m")
    (annotation,) = board_document(given, prometheus, SHOWN)["annotations"]
    assert [region["toMs"] - region["fromMs"] for region in annotation["regions"]] == [0, 0]
