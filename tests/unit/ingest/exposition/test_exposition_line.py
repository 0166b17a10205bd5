"""The exact reading of one line."""

import contextlib
import math
import time

import pytest

from common.errors import BadInput
from ingest.collectors.exposition.decode.line import LABEL_BYTES_MAX, LINE_BYTES_MAX, parse_line, parse_number


def read(line: bytes, openmetrics: bool = False) -> tuple[str, dict[str, str], str, str | None]:
    parsed = parse_line(line, 1, openmetrics=openmetrics)
    assert parsed is not None
    value = line[slice(*parsed.value_at)].decode()
    return parsed.name, parsed.labels, value, line[slice(*parsed.time_at)].decode() if parsed.time_at else None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"up 1", ("up", {}, "1", None)),
        (b"  up\t 1 ", ("up", {}, "1", None)),
        (b"up{} 1", ("up", {}, "1", None)),
        (b'up {a="b"} 1', ("up", {"a": "b"}, "1", None)),
        (b'up{a="b",} 1', ("up", {"a": "b"}, "1", None)),
        (b'up{ a = "b" , c="d" }1 1760000000000', ("up", {"a": "b", "c": "d"}, "1", "1760000000000")),
        (b'up{gpu="0", UUID="GPU-1"} 2e3 -5', ("up", {"gpu": "0", "UUID": "GPU-1"}, "2e3", "-5")),
        (b"vllm:num_requests_running 3", ("vllm:num_requests_running", {}, "3", None)),
        (rb'a{b="\\ \" \n \q } {",c=""} NaN', ("a", {"b": '\\ " \n \\q } {'}, "NaN", None)),
        ('a{b="°C 漢"} +Inf'.encode(), ("a", {"b": "°C 漢"}, "+Inf", None)),
        (b'{"my.metric", "a b"="c"} 1', ("my.metric", {"a b": "c"}, "1", None)),
    ],
)
def test_reads(line: bytes, expected: object) -> None:
    assert read(line) == expected


@pytest.mark.parametrize("line", [b"", b"  \t", b"# HELP a b", b"  # anything {", b"#"])
def test_comments_and_blank_lines_are_no_sample(line: bytes) -> None:
    assert parse_line(line, 1, openmetrics=False) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'a_total{b="c"} 1 # {trace_id="x"} 0.5', ("a_total", {"b": "c"}, "1", None)),
        (b"a 1 1760000000.123 # {} 0.5 1760000000.1", ("a", {}, "1", "1760000000.123")),
    ],
)
def test_exemplars_are_passed_over_in_openmetrics(line: bytes, expected: object) -> None:
    assert read(line, openmetrics=True) == expected
    with pytest.raises(BadInput):
        read(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"up", "line 7, column 3: expected a value, found the end of the line"),
        (b"up one", "line 7, column 4: expected a value such as 1.5, NaN or +Inf, found 'one'"),
        (b"up 1_000", "line 7, column 4: expected a value such as"),
        (b"up 1 now", "line 7, column 6: expected a timestamp in milliseconds, found 'now'"),
        (b"up 1 1.5", "line 7, column 6: expected a timestamp in milliseconds"),
        (b"up 1 2 3", "line 7, column 8: expected the end of the line, found '3'"),
        (b'up{a="b} 1', "line 7, column 6: expected a text in double quotes"),
        (b"up{a=b} 1", "line 7, column 6: expected a text in double quotes"),
        (b'up{a="b" c="d"} 1', "line 7, column 10: expected ',' or '}'"),
        (b'up{a="b",a="c"} 1', "line 7, column 10: expected label 'a' only once"),
        (b'up{a="b",__name__="c"} 1', "line 7, column 10: expected no label __name__"),
        (b'up{0a="b"} 1', "line 7, column 4: expected a label name"),
        (b'up{a="\xff"} 1', "line 7, column 7: expected UTF-8"),
        (b'{a="b"} 1', "line 7, column 8: expected a metric name"),
        (b"0up 1", "line 7, column 1: expected a metric name"),
    ],
)
def test_errors_name_line_column_and_what_was_expected(line: bytes, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_line(line, 7, openmetrics=False)
    assert str(caught.value).startswith(message)
    assert caught.value.reason == "bad_format"


@pytest.mark.parametrize(
    "line",
    [
        b'a{b="' + b"x" * (LABEL_BYTES_MAX + 1) + b'"} 1',
        b'a{b="' + b"x" * 1_000_000 + b'"} 1',
        b'a{b="' + rb"\"" * 400_000 + b'"} 1',
        b"a 1 " + b" " * LINE_BYTES_MAX,
    ],
)
def test_huge_labels_and_lines_are_refused(line: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        parse_line(line, 1, openmetrics=False)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize("piece", [b"{", b'"', b"\\", b',a="', b"} ", b'a="b",', b" ", b"#"])
def test_any_line_is_read_or_refused_in_linear_time(piece: bytes) -> None:
    """Doubling the length may not make it ten times slower (quadratic would be 16 times over two doublings)."""

    def cost(length: int) -> float:
        line = (b'a{b="c",' + piece * (length // len(piece)))[:length]
        best = math.inf
        for _ in range(5):
            started = time.process_time()
            with contextlib.suppress(BadInput):
                parse_line(line, 1, openmetrics=True)
            best = min(best, time.process_time() - started)
        return best

    assert cost(LINE_BYTES_MAX) < 10 * cost(LINE_BYTES_MAX // 4) + 0.01


@pytest.mark.parametrize("token", [b"1_0", b" 1", b"1\r", b"", b"0x10", b"one"])
def test_only_the_formats_numbers_are_numbers(token: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(could not convert|b')"):
        parse_number(token)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        (b"0", 0.0),
        (b"-0", -0.0),
        (b"+1.5", 1.5),
        (b".5", 0.5),
        (b"1e3", 1000.0),
        (b"1E-3", 0.001),
        (b"+Inf", math.inf),
        (b"-Inf", -math.inf),
        (b"Inf", math.inf),
        (b"1e999", math.inf),
        (b"5e-324", 5e-324),
        (b"9007199254740993", 9007199254740992.0),
    ],
)
def test_numbers(token: bytes, value: float) -> None:
    found = parse_number(token)
    assert (found, math.copysign(1.0, found)) == (value, math.copysign(1.0, value))


@pytest.mark.parametrize("token", [b"NaN", b"nan", b"NAN"])
def test_not_a_number_is_a_number_of_the_format(token: bytes) -> None:
    assert math.isnan(parse_number(token))


@pytest.mark.parametrize(
    ("line", "name", "value", "time", "rest"),
    [
        (b"up 1", b"up", b"1", None, b""),
        (b"up  1\t2  ", b"up", b"1", b"2", b"  "),
        (b'up{a="b"} 1 2', b'up{a="b"}', b"1", b"2", b""),
        (b'up {a="b"}1', b'up {a="b"}', b"1", None, b""),
        (b'{"a.b",c="d"} 1', b'{"a.b",c="d"}', b"1", None, b""),
    ],
)
def test_the_parts_of_a_line(line: bytes, name: bytes, value: bytes, time: bytes | None, rest: bytes) -> None:
    parsed = parse_line(line, 1, openmetrics=False)
    assert parsed is not None
    assert line[: parsed.name_end] == name
    assert line[slice(*parsed.value_at)] == value
    assert (line[slice(*parsed.time_at)] if parsed.time_at else None) == time
    assert line[parsed.rest_at :] == rest


@pytest.mark.parametrize(
    ("inside", "labels"),
    [
        (b"", {}),
        (b" ", {}),
        (b'a="b"', {"a": "b"}),
        (b'a="b",', {"a": "b"}),
        (b'a="",c="d"', {"c": "d"}),  # an empty label is the same as none
        (b'a="b, c=d"', {"a": "b, c=d"}),
        (b'a="}"', {"a": "}"}),
        (b'a="#"', {"a": "#"}),
        (rb'a="\\"', {"a": "\\"}),
        (rb'a="\""', {"a": '"'}),
        (rb'a="\n"', {"a": "\n"}),
        (rb'a="\x"', {"a": "\\x"}),  # an unknown escape is what it is
        (b'"a.b"="c"', {"a.b": "c"}),
        ('a="µ"'.encode(), {"a": "µ"}),
    ],
)
def test_labels(inside: bytes, labels: dict[str, str]) -> None:
    parsed = parse_line(b"up{" + inside + b"} 1", 1, openmetrics=False)
    assert parsed is not None
    assert parsed.labels == labels


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'a 1 # {t="x"}', "column 14: expected an exemplar's value, found the end of the line"),
        (b'a 1 # {t="x"} one', "column 15: expected an exemplar's value, found 'one'"),
        (b'a 1 # {t="x"} 1 now', "column 17: expected an exemplar's timestamp, found 'now'"),
        (b'a 1 # {t="x"} 1 2 3', "column 18: expected the end of the line"),
        (b"a 1 # t", "column 7: expected '{' of an exemplar, found 't'"),
        (b"a 1 1.5x", "column 5: expected a timestamp in seconds"),
    ],
)
def test_errors_of_openmetrics(line: bytes, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_line(line, 3, openmetrics=True)
    assert str(caught.value).startswith(f"line 3, {message}")
