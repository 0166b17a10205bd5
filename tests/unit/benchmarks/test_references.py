"""The references count and compute what they claim to: a wrong reference would give a wrong ratio."""

import json

import numpy as np
import pytest

from benchmarks.references.naive_pipeline import (
    _Average,
    _encode,
    _encode_message,
    _learn,
    values_of,
    values_per_cpu_second,
)
from telemetry.gnmi import gnmi_pb2

PAGE = b"""# HELP load Load.
# TYPE load gauge
load{cpu="0"} 1.5
load{cpu="1"} 2
# TYPE bytes_total counter
bytes_total 7
"""


def response(*updates: tuple[str, gnmi_pb2.TypedValue]) -> bytes:
    notification = gnmi_pb2.Notification(
        prefix=gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name="ports", key={"name": "e1"})])
    )
    for name, value in updates:
        notification.update.add(path=gnmi_pb2.Path(elem=[gnmi_pb2.PathElem(name=name)]), val=value)
    return gnmi_pb2.SubscribeResponse(update=notification).SerializeToString()


def test_every_line_of_a_page_is_a_message() -> None:
    assert [json.loads(message) for message in _encode(PAGE)] == [
        {"name": "load", "labels": {"cpu": "0"}, "value": 1.5},
        {"name": "load", "labels": {"cpu": "1"}, "value": 2.0},
        {"name": "bytes_total", "labels": {}, "value": 7.0},
    ]


def test_every_leaf_of_a_notification_is_a_message_with_its_prefix() -> None:
    message = response(("octets", gnmi_pb2.TypedValue(uint_val=7)), ("state", gnmi_pb2.TypedValue(string_val="UP")))
    assert [json.loads(each) for each in _encode_message(message)] == [
        {"name": "ports/octets", "labels": {"ports_name": "e1"}, "value": 7.0},
        {"name": "ports/state", "labels": {"ports_name": "e1"}, "value": 0.0},
    ]


def test_every_field_of_a_json_object_is_a_message() -> None:
    fields = {"e1": {"octets": "5", "alias": "etp1"}, "e2": {"octets": "6"}}
    message = response(("counters", gnmi_pb2.TypedValue(json_ietf_val=json.dumps(fields).encode())))
    found = [json.loads(each) for each in _encode_message(message)]
    assert [(each["name"], each["labels"]["row"], each["value"]) for each in found] == [
        ("ports/counters/octets", "e1", 5.0),
        ("ports/counters/alias", "e1", 0.0),
        ("ports/counters/octets", "e2", 6.0),
    ]
    assert values_of([message, message]) == 6


def test_the_average_is_weighted_by_a_hundredth() -> None:
    values = np.random.default_rng(1).normal(size=50)
    found = _Average(values[0])
    for value in values[1:].tolist():
        found.update(value)
    weights = np.array([0.99**49, *(0.01 * 0.99 ** (49 - k) for k in range(1, 50))])
    mean = weights @ values
    assert found.mean == pytest.approx(mean)
    assert found.variance == pytest.approx(weights @ (values - mean) ** 2)


def test_a_score_is_the_distance_in_deviations_before_it_is_learned() -> None:
    average = _Average(0.0)
    assert average.update(10.0) == 0.0, "nothing is known of its deviation"
    deviation = np.sqrt(average.variance)
    assert average.update(average.mean + 3 * deviation) == pytest.approx(3.0)


def test_series_differ_by_their_labels() -> None:
    state: dict[str, _Average] = {}
    for message in (*_encode(PAGE), *_encode(PAGE)):
        _learn(state, message)
    assert sorted(state) == ["bytes_total{}", 'load{"cpu": "0"}', 'load{"cpu": "1"}']


def test_the_rate_is_of_complete_rounds() -> None:
    assert values_per_cpu_second([PAGE], for_s=0.001) > 0
