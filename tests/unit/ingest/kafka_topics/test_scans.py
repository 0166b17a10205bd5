"""Messages of known series are read by compiled scans as by the plain readers, which read whatever is unusual."""

import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.kafka_topics.config import TopicRule
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.kafka_topics.decode.telegraf_json import JsonReader
from ingest.collectors.pushed_series import PushedSeries
from tests.servers.telegraf import RECORDED, messages
from tests.unit.ingest.kafka_topics.test_influx_line import NOW

RULE = TopicRule(source="telegraf")
Reader = LineReader | JsonReader
Found = tuple[list[int], list[int], bytes, dict[str, int], int]


def reader(make: Callable[[PushedSeries], Reader], series_max: int = 10_000) -> Reader:
    return make(PushedSeries("kafka", (RULE,), NOW, series_max=series_max, targets_max=100))


def plainly(of: Reader, sent: Sequence[bytes]) -> Found:
    """Slots, times, the bytes of values, drops, and messages of no use."""
    lines, of_no_use = Lines(), 0
    for message in sent:
        try:
            of.read(message, lines)
        except BadInput:
            of_no_use += 1
    return lines.slots.tolist(), lines.times_ns.tolist(), lines.values.tobytes(), dict(lines.dropped), of_no_use


def scanned(of: Reader, sent: Sequence[bytes]) -> Found:
    lines = Lines()
    of_no_use = of.read_all(sent, lines)
    return lines.slots.tolist(), lines.times_ns.tolist(), lines.values.tobytes(), dict(lines.dropped), of_no_use


def assert_same(make: Callable[[PushedSeries], Reader], *gatherings: Sequence[bytes], series_max: int = 10_000) -> None:
    plain, fast = reader(make, series_max), reader(make, series_max)
    for sent in gatherings:
        assert scanned(fast, sent) == plainly(plain, sent)


def later(message: bytes, by: int) -> bytes:
    """With other numbers, of other lengths, and another time."""
    values = rb"(=)(\d+)(?=i[, ])", rb"(?<!timestamp)(\":)(\d+)(?=[,}])", rb"( |timestamp\":)(\d+)(?=\}|\n)"
    for value in values:
        message = re.sub(value, lambda each: b"%b%d" % (each[1], int(each[2]) // 2 * by), message)
    return message


class _NotPlain(AssertionError):
    pass


def _never(*_: object) -> int:
    raise _NotPlain


@pytest.mark.parametrize(
    ("make", "plain", "sent"),
    [
        (LineReader, "_read_line", messages("influx")),
        (JsonReader, "read", messages("json")),
        (JsonReader, "read", [(RECORDED / "batch.json").read_bytes()]),
    ],
)
def test_what_telegraf_writes_again_reaches_no_plain_reader(
    make: Callable[[PushedSeries], Reader], plain: str, sent: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    of, again = reader(make), [later(message, 3) for message in sent]
    expected = plainly(reader(make), [*sent, *again])
    first = scanned(of, sent)
    monkeypatch.setattr(of, plain, _never)
    second = scanned(of, again)
    assert (first[0] + second[0], first[1] + second[1], first[2] + second[2]) == expected[:3]
    assert len(second[0]) == 80
    with pytest.raises(_NotPlain):
        scanned(of, [sent[0].replace(b"port_xmit_data", b"port_xmit_date")])


def test_fields_of_a_line_come_in_any_order() -> None:
    """As in Telegraf, which writes them as Go's maps come; and texts among them are counted."""
    of = reader(LineReader)
    first = scanned(of, [b'm,host=n1 a=1,b=2i,c="x y",d=true %d' % NOW])
    second = scanned(of, [b'm,host=n1 d=false,c="z",b=4i,a=3 %d' % NOW])
    assert first[0] == [0, 1, 2]
    assert second[0] == [2, 1, 0]
    assert second[3] == {"text": 1}


NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "7",
    "007",
    "-12",
    "1.5",
    "1.",
    ".5",
    "98.46153846151328",
    "1e5",
    "1E-7",
    "1e400",
    "+1",
    "1e",
    str(2**53 + 1),
    str(2**63),
    str(2**64 - 1),
    str(10**30),
    "0.1e-400",
    "123456789012345678901.5",
    "",
    "t",
    "x",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_the_same_however_it_is_read(number: str) -> None:
    line, metric = f"m,host=n1 a={number} 5\n", f'{{"fields":{{"a":{number}}},"name":"m","tags":{{}},"timestamp":5}}\n'
    whole = f"m,host=n1 a={number}i 5\n"
    for make, one in ((LineReader, line), (LineReader, whole), (JsonReader, metric)):
        known = one.replace(f"a={number}", "a=1").replace(f":{number}", ":1", 1)
        assert_same(make, [known.encode()], [one.encode(), known.encode()])


@pytest.mark.parametrize(
    "time", ["0", "05", "-5", "5.0", str(2**63 - 1), str(2**63), "99999999999", "1" * 14, "1" * 17, ""]
)
def test_a_time_is_the_same_however_it_is_read(time: str) -> None:
    line, metric = "m a=1 {}", '{{"fields":{{"a":1}},"name":"m","tags":{{}},"timestamp":{}}}'
    for make, form in ((LineReader, line), (JsonReader, metric)):
        assert_same(make, [form.format(5).encode()], [form.format(time).encode(), form.format(7).encode()])


LINES = [
    b"m,host=n1 a=1,b=2i 5\n",
    b"m,host=n1 b=2i,a=1 5",
    b'm,host=n1 a=1,t="x\\"y",b=2i 5\n',
    b'm,host=n1 a=1,t="x\ny",b=2i 5\n',
    b'm,host=n1 t="x" 5\n',
    b'm,host=n1 t="x"y,a=1 5\n',
    b'm,host=n1 a=1,"t"="x" 5\n',
    b"m,host=n1 a=1,a=2 5\n",
    b"m,host=n1 a=1 5\r\n",
    b"m,host=n1  a=1 5\n",
    b"m,host=n1 a=1  5\n",
    b"m,host=n1 a=1 5 \n",
    b"m,host=n1 a=1, 5\n",
    b"m,host=n1 a=1,b 5\n",
    b"m,host=n1 =1 5\n",
    b"m,host=n1 a=1\n",
    b"m,host=n1 a=one,b=1 5\n",
    b"m\\ x,host=n\\,1 a=1,b=2i 5\n",
    b"m\\ x,host=n1 a\\ b=1 5\n",
    b"m\\\n",
    b"m\\",
    b'#m t="x",a=1 5\n',
    b"#m a=1 5\n",
    b'\rm t="x",a=1 5\n',
    b"\rm a=1 5\n",
    b'm,t=x"y a=1 5\n',
    b"\n\n",
    b'm,host=n1 a=1,t="',
    b",a=1 5\n",
]


@pytest.mark.parametrize("one", LINES)
def test_a_line_is_the_same_however_it_is_read(one: bytes) -> None:
    known = LINES[0]
    assert_same(LineReader, [known, one], [one, known, one], [known + one + known])


@given(st.lists(st.lists(st.sampled_from(LINES) | st.binary(max_size=8), max_size=8), min_size=2, max_size=4))
@settings(deadline=None)
def test_any_lines_are_the_same_however_they_are_read(gatherings: list[list[bytes]]) -> None:
    assert_same(LineReader, *gatherings, *gatherings)


METRIC = b'{"fields":{"a":1,"b":2.5,"t":"x"},"name":"m","tags":{"host":"n1"},"timestamp":5}'
METRICS = [
    METRIC,
    METRIC + b"\n",
    METRIC + b" ",
    METRIC + METRIC,
    METRIC[:-1],
    METRIC.replace(b'"a":1', b'"a":1,"a":2'),
    METRIC.replace(b'"a":1', b'"b":2,"a":1'),
    METRIC.replace(b'"t":"x"', b'"t":"x\\u0041"'),
    METRIC.replace(b'"t":"x"', b'"t":"\\q"'),
    METRIC.replace(b'"t":"x"', b'"t":"\xff"'),
    METRIC.replace(b'"t":"x"', b'"t":"\n"'),
    METRIC.replace(b'"t":"x"', b'"\xff":"x"'),
    METRIC.replace(b'"t":"x"', b'"t":null'),
    METRIC.replace(b'"t":"x"', b'"t":[1]'),
    METRIC.replace(b'"t":"x"', b'"t":true'),
    METRIC.replace(b'"t":"x"', b'"t":false'),
    METRIC.replace(b'"a"', b'"a&b"'),
    METRIC.replace(b'"a"', b'"a\\u0026b"'),
    METRIC.replace(b'"a":1', b'"a&b":"x","a\\u0026b":1'),
    METRIC.replace(b'"a":1', b'"a\\nb":1'),
    METRIC.replace(b'"a":1', b'"a\nb":1'),
    METRIC.replace(b"n1", b"n\\u003c1"),
    METRIC.replace(b"n1", b"n<1"),
    METRIC.replace(b"n1", b"n\xff"),
    METRIC.replace(b'"n1"', b"1"),
    METRIC.replace(b'"host":"n1"', b'"host":"n1","host":"n2"'),
    METRIC.replace(b'"host":"n1"', b""),
    METRIC.replace(b'"m"', b'""'),
    METRIC.replace(b'"fields":{"a":1,"b":2.5,"t":"x"}', b'"fields":{}'),
    METRIC.replace(b'"a":1', b'"a":01'),
    METRIC.replace(b'"a":1', b'"a":-'),
    METRIC.replace(b'"timestamp":5', b'"timestamp":5,"x":1'),
    METRIC.replace(b'"name":"m",', b""),
    METRIC.replace(b'},"name"', b'};"name"'),
    METRIC.replace(b'"a":1', b'"a";1'),
    METRIC.replace(b',"b":2.5', b""),
    METRIC.replace(b'"a":1,', b""),
    b"",
    b"[]",
    b'{"metrics":[]}',
    b'{"metrics":[%b]}' % METRIC,
    b'{"metrics":[%b,%b]}\n' % (METRIC, METRIC.replace(b"n1", b"n2")),
    b'{"metrics":[%b,]}\n' % METRIC,
    b'{"metrics":[%b %b]}\n' % (METRIC, METRIC),
    b'{"metrics":[%b],"fields":{}}' % METRIC,
    b'{"metrics":[7,%b]}' % METRIC,
    METRIC[: METRIC.index(b'"name"') + 9],
    b',"tags":{' + METRIC[: METRIC.index(b'"tags"') - 2],
]


@pytest.mark.parametrize("one", METRICS)
def test_a_metric_is_the_same_however_it_is_read(one: bytes) -> None:
    assert_same(JsonReader, [METRIC, one], [one, METRIC, one], [one], [METRIC, METRIC])


@given(st.lists(st.lists(st.sampled_from(METRICS), max_size=5), min_size=2, max_size=4))
@settings(deadline=None)
def test_any_metrics_are_the_same_however_they_are_read(gatherings: list[list[bytes]]) -> None:
    assert_same(JsonReader, *gatherings, *gatherings)


_SCALARS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.text(max_size=4)
_NAMES = st.text(min_size=1, max_size=4)


@given(
    st.lists(
        st.tuples(_NAMES, st.dictionaries(_NAMES, _NAMES, max_size=2), st.dictionaries(_NAMES, _SCALARS)), max_size=3
    ),
    st.integers(0, 2**63),
)
@settings(deadline=None)
def test_metrics_as_go_writes_them_are_the_same_however_they_are_read(
    made: list[tuple[str, dict[str, str], dict[str, object]]], time: int
) -> None:
    sent = []
    for name, tags, fields in made:
        body = {"fields": fields, "name": name, "tags": tags, "timestamp": time}
        written = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        sent.append(written.translate({ord(char): f"\\u{ord(char):04x}" for char in "&<>"}).encode())
    assert_same(JsonReader, sent, sent, [b'{"metrics":[%b]}' % b",".join(sent)])


@pytest.mark.parametrize(("make", "sent"), [(LineReader, LINES[0]), (JsonReader, METRIC)])
def test_series_without_room_are_the_same_however_they_are_read(
    make: Callable[[PushedSeries], Reader], sent: bytes
) -> None:
    assert_same(make, [sent], [sent, sent], series_max=1)


@pytest.mark.parametrize("form", ["lines", "metrics"])
def test_a_message_with_more_fields_than_a_scan_has_room_for_is_read_plainly(form: str) -> None:
    names = [f"f{n:05}" for n in range(70_000)]
    if form == "lines":
        message = "m " + ",".join(f"{name}=1" for name in names) + " 5\n"
        assert_same(LineReader, [message.encode()], [b"m f00001=1 5\n", message.encode()], series_max=100_000)
    else:
        fields = ",".join(f'"{name}":1' for name in names)
        message = f'{{"fields":{{{fields}}},"name":"m","tags":{{}},"timestamp":5}}'
        assert_same(JsonReader, [message.encode()], [message.encode(), message.encode()], series_max=100_000)
