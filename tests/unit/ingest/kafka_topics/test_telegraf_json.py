"""Telegraf's JSON becomes the samples that its lines become; what cannot be read is counted."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.kafka_topics.config import TopicRule
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.kafka_topics.decode.telegraf_json import JsonReader
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.remote_write.decode.body import Message, RequestReader
from tests.servers.telegraf import RECORDED, messages
from tests.unit.ingest.kafka_topics.test_influx_line import NOW, values

RULES = (TopicRule(job="infiniband", source="telegraf"), TopicRule(source="dcgm"))


def series() -> PushedSeries:
    return PushedSeries("kafka", RULES, NOW, series_max=10_000, targets_max=100)


def times_of(recorded: list[bytes]) -> list[int]:
    lines, reader = Lines(), LineReader(series())
    for message in recorded:
        reader.read(message, lines)
    return lines.times_ns.tolist()


AT_NS = max(times_of(messages("influx")))


def of_lines() -> dict[str, list[float]]:
    reader, lines = LineReader(series()), Lines()
    for message in messages("influx"):
        reader.read(message, lines)
    return values(reader.admit(lines, AT_NS))


def of_json(*sent: bytes) -> dict[str, list[float]]:
    reader, lines = JsonReader(series()), Lines()
    for message in sent:
        reader.read(message, lines)
    return values(reader.admit(lines, AT_NS))


def metric(**changes: object) -> bytes:
    body = {"name": "infiniband", "tags": {"host": "n1", "device": "mlx5_0", "port": "1"}, "timestamp": NOW}
    return json.dumps({**body, "fields": {"symbol_error": 1}, **changes}).encode()


def test_what_telegraf_wrote_as_json_is_what_it_wrote_as_lines() -> None:
    expected = of_lines()
    assert expected['ib_port_transmit_bytes_total{device="hop-r640-12",port="mlx5_bond_0"}'] == [4 * 85378896588.0]
    assert len(expected) > 70
    assert of_json(*messages("json")) == of_json((RECORDED / "batch.json").read_bytes()) == expected


def test_what_telegraf_wrote_as_remote_write_has_the_same_values() -> None:
    """Without the measurement, the catalogue of the rule alone decides: here that of dcgm."""
    reader = RequestReader(series(), 1 << 20)
    for message in messages("prometheusremotewrite"):
        reader.read(message, Message.FIRST)
    found, expected = values(reader.admit(AT_NS)), of_lines()
    of_gpus = {key: value for key, value in expected.items() if 'device="gpu-node-1"' in key}
    assert found == of_gpus
    assert len(found) == len(expected) - 49 > 20


@pytest.mark.parametrize("scale", [10**9, 10**6, 10**3, 1])
def test_times_have_the_unit_of_their_size(scale: int) -> None:
    lines = Lines()
    JsonReader(series()).read(metric(timestamp=NOW // scale), lines)
    assert lines.times_ns.tolist() == [NOW]


def test_texts_are_counted_and_truth_values_are_numbers() -> None:
    lines = Lines()
    JsonReader(series()).read(metric(fields={"a": "x", "b": True, "c": 1.5, "d": None, "e": {}}), lines)
    assert (lines.values.tolist(), dict(lines.dropped)) == ([1.0, 1.5], {"text": 3})


def test_a_series_that_was_silent_makes_room() -> None:
    reader = JsonReader(PushedSeries("kafka", RULES, NOW, series_max=1, targets_max=10))

    def take(name: str, now_ns: int) -> int:
        lines = Lines()
        reader.read(metric(timestamp=now_ns, fields={name: 1}), lines)
        return sum(map(len, reader.admit(lines, now_ns).batches))

    assert [take("symbol_error", NOW), take("link_downed", NOW)] == [1, 0]
    later = NOW + 2 * 3600 * 10**9
    assert [take("link_downed", later), take("link_downed", later + 1)] == [0, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": 7},
        {"tags": None},
        {"tags": {"host": 1}},
        {"timestamp": "2026-01-01T00:00:00Z"},
        {"timestamp": -1},
        {"timestamp": 2**63},
        {"timestamp": 10**11 - 1},
        {"timestamp": 1.5},
        {"fields": [1]},
    ],
)
def test_a_broken_metric_costs_itself_alone(changes: dict[str, object]) -> None:
    lines = Lines()
    batch = b'{"metrics": [%b, %b]}' % (metric(**changes), metric())
    JsonReader(series()).read(batch, lines)
    assert (lines.values.tolist(), dict(lines.dropped)) == ([1.0], {"malformed": 1})


@pytest.mark.parametrize("message", [b"", b"{", b"7", b"[]", b"{}", b'{"metrics": 7}', b"\xff"])
def test_what_is_no_message_of_the_format_says_so(message: bytes) -> None:
    with pytest.raises(BadInput, match="expected") as error:
        JsonReader(series()).read(message, Lines())
    assert error.value.reason == "malformed"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["host", "a"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["name", "tags", "fields", "timestamp"]), _JSON))
@settings(deadline=None)
def test_any_metric_is_read_or_counted(changes: dict[str, object]) -> None:
    lines, reader = Lines(), JsonReader(series())
    reader.read(b'{"metrics": [%b]}' % metric(**changes), lines)
    assert len(lines.slots) == len(lines.times_ns) == len(lines.values)
    reader.admit(lines, NOW)
