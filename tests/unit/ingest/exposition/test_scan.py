"""The passes over a body, compiled and plain: small arrays by hand, and where both must agree."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from ingest.collectors.exposition.decode import scan_plain
from ingest.collectors.exposition.decode.template import CLEAR, CONSTANT, PLAIN, Spans, build_template

numba = pytest.importorskip("numba")
from ingest.collectors.exposition.decode import scan_numba  # noqa: E402

CAPACITY = 20


def view(body: bytes) -> np.ndarray:
    return np.frombuffer(body, np.uint8)


# ---- numbers between the pieces of a template

TEMPLATE = build_template(b"a 1\n", Spans(*(np.array([n]) for n in (0, 0, 3, 2, 3, -1, -1))), openmetrics=False)


def match(body: bytes) -> tuple[int, float, list[int]]:
    """Result, the one token, and its span when the compiled pass leaves it to Python."""
    tokens, inexact = np.full(1, math.nan), np.zeros((1, 3), np.int64)
    of_body = TEMPLATE.static, TEMPLATE.ends, TEMPLATE.exemplars, TEMPLATE.whole
    result = scan_numba.match(view(body), *of_body, tokens, inexact)
    return result, float(tokens[0]), inexact[0].tolist()


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (b"0", 0.0),
        (b"-0", -0.0),
        (b"+7", 7.0),
        (b"007", 7.0),
        (b"1.", 1.0),
        (b".5", 0.5),
        (b"1e3", 1000.0),
        (b"1E+3", 1000.0),
        (b"25e-2", 0.25),
        (b"0.1", 0.1),
        (b"9007199254740992", 2.0**53),
        (b"9999999999999999999", 1e19),  # the hardware rounds whole numbers of 64 bits
        (b"1e22", 1e22),  # the largest power of ten that a float holds exactly
        (b"123456789012345e-5", 1234567890.12345),
        (b"9653.880000000001", 9653.880000000001),  # as Go prints 9653.88 that was summed up
        (b"1e-23", 1e-23),
    ],
)
def test_numbers_that_the_compiled_pass_rounds_exactly(number: bytes, value: float) -> None:
    result, token, _ = match(b"a " + number + b"\n")
    assert (result, math.copysign(1.0, token)) == (0, math.copysign(1.0, value))
    assert token == value == float(number)


@pytest.mark.parametrize(
    "number",
    [
        b"NaN",
        b"+Inf",
        b"1e23",
        b"1e-65",
        b"9007199254740993.5",
        b"18446744073709551615",  # twenty digits
        b"0.12345678901234567890",
        b"1e",
        b"1x",
        b"1e+",
        b"--1",
    ],
)
def test_other_tokens_are_left_to_python_with_their_span(number: bytes) -> None:
    result, _, span = match(b"a " + number + b"\n")
    assert (result, span) == (1, [0, 2, 2 + len(number)])


@pytest.mark.parametrize("body", [b"", b"a", b"a \n", b"b 1\n", b"a 1", b"a 1 \n", b"a 1\n\n", b"a 1 2\n", b"a  1\n"])
def test_a_body_of_another_shape_does_not_match(body: bytes) -> None:
    assert match(body)[0] == scan_numba.MISMATCH


@pytest.mark.parametrize("body", [b"", b"a", b"a \n", b"b 1\n", b"a 1", b"a 1\n\n", b"a 1 2\n", b"a x\n", b"a 1_0\n"])
def test_nor_does_it_in_plain_python(body: bytes) -> None:
    assert scan_plain.match(TEMPLATE, body) is None


@pytest.mark.parametrize("number", [b"1.5", b"-3e2", b"NaN", b"+Inf", b"1e23", b"17976931348623157e292"])
def test_plain_python_reads_the_same_tokens(number: bytes) -> None:
    found = scan_plain.match(TEMPLATE, b"a " + number + b"\n")
    assert found is not None
    np.testing.assert_array_equal(found, [float(number)])


# ---- known series in any order


class Scan(NamedTuple):
    series: int
    name: bytes
    value: bytes
    time: bytes | None


def scan(body: bytes, known: list[bytes]) -> list[Scan] | None:
    ends = np.cumsum([len(name) for name in known], dtype=np.int64)
    slots = np.full(16, -1, np.int64)
    names = view(b"".join(known))
    scan_numba.fill_slots(names, ends, slots)
    rows = np.zeros((CAPACITY, 7), np.int64)
    count = scan_numba.scan(view(body), names, ends, slots, rows)
    if count == scan_numba.TOO_MANY:
        return None
    return [
        Scan(series, body[line:end], body[value:value_end], body[time:time_end] if time >= 0 else None)
        for series, line, end, value, value_end, time, time_end in rows[:count].tolist()
    ]


KNOWN = [b"a", b'b{x="y z"}', b'c{x="}"}']


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", []),
        (b"# a 1\n\n  \n", []),
        (b"a 1\n", [Scan(0, b"a 1", b"1", None)]),
        (b"a 1", [Scan(0, b"a 1", b"1", None)]),
        (b"a\t 1 \n", [Scan(0, b"a\t 1 ", b"1", None)]),
        (b"a 1 1700\n", [Scan(0, b"a 1 1700", b"1", b"1700")]),
        (b'b{x="y z"} 2\na 1\n', [Scan(1, b'b{x="y z"} 2', b"2", None), Scan(0, b"a 1", b"1", None)]),
        (b'c{x="}"} 3\n', [Scan(2, b'c{x="}"} 3', b"3", None)]),
        # not known, or not exact: parsed exactly afterwards
        (b"d 1\n", [Scan(-1, b"d 1", b"1", None)]),
        (b"a NaN\n", [Scan(-1, b"a NaN", b"NaN", None)]),
        (b"a 1 17.5\n", [Scan(-1, b"a 1 17.5", b"1", b"17.5")]),
        (b"a 1 2 3\n", [Scan(-1, b"a 1 2 3", b"1", b"2")]),
        (b"a\n", [Scan(-1, b"a", b"", None)]),
        (b" a 1\n", [Scan(-1, b" a 1", b"a", b"1")]),
    ],
)
def test_sample_lines_and_the_known_series_among_them(body: bytes, expected: list[Scan]) -> None:
    assert scan(body, KNOWN) == expected


def test_a_name_with_an_escaped_quote_ends_behind_its_brace() -> None:
    name = rb'a{x="\" } "}'
    assert scan(name + b" 5\n", [name]) == [Scan(0, name + b" 5", b"5", None)]


def test_more_lines_than_the_capacity_are_refused() -> None:
    assert scan(b"a 1\n" * CAPACITY, KNOWN) is not None
    assert scan(b"a 1\n" * (CAPACITY + 1), KNOWN) is None
    assert scan_plain.scan(b"a 1\n" * (CAPACITY + 1), {}, CAPACITY) is None


def test_plain_python_knows_a_line_by_the_bytes_before_its_last_word() -> None:
    rows = scan_plain.scan(b'# c\na 1\nb{x="y z"} 2\nd 3\na x\n', {name: n for n, name in enumerate(KNOWN)}, CAPACITY)
    assert rows is not None
    assert rows[:, 0].tolist() == [0, 1, -1, -1]
    assert rows[0].tolist() == [0, 4, 7, 6, 7, -1, -1]


# ---- from tokens to canonical values

FREE, SMALL, BYTE = (-math.inf, math.inf, math.nan), (0.0, 5.0, math.nan), (-math.inf, math.inf, 255.0)
TWO = [(0, 0, PLAIN, 1.0), (1, 1, PLAIN, 1.0)]
DOUBLED = [(n, n, PLAIN, 2.0) for n in range(4)]


def finish(
    compiled: bool,
    tokens: list[float],
    entries: list[tuple[int, int, int, float]],
    bounds: list[tuple[float, float, float]],
    sentinels: list[tuple[float, float]],
) -> tuple[tuple[int, int, int], dict[int, float]]:
    """Counts, and the value of each row that is a sample. entries: token, row, bit and scale."""
    columns = np.array([entry[:3] for entry in entries], np.int64).reshape(-1, 3).T.copy()
    scale = np.array([entry[3] for entry in entries])
    limits = np.array(bounds).reshape(-1, 3).T.copy()
    values, rows = np.zeros(len(bounds)), np.zeros(len(bounds), np.uint32)
    function = scan_numba.finish if compiled else scan_plain.finish
    ranges = np.array(sentinels, np.float64).reshape(-1, 2)
    counts = function(np.array(tokens), columns, scale, limits, ranges, values, rows)
    kept = counts[0]
    return counts, dict(zip(rows[:kept].tolist(), values[:kept].tolist(), strict=True))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("tokens", "entries", "bounds", "sentinels", "counts", "values"),
    [
        ([], [], [], [], (0, 0, 0), {}),
        ([5.0], [(0, 0, PLAIN, 1.0)], [FREE], [], (1, 0, 0), {0: 5.0}),
        ([5.0], [(0, 0, PLAIN, 1000.0)], [FREE], [], (1, 0, 0), {0: 5000.0}),
        # several tokens of one row add up; one without a value takes the row with it
        ([1.0, 2.0, 4.0], [(0, 0, PLAIN, 1.0), (2, 0, PLAIN, 10.0)], [FREE], [], (1, 0, 0), {0: 41.0}),
        ([1.0, math.nan], [(0, 0, PLAIN, 1.0), (1, 0, PLAIN, 1.0)], [FREE], [], (0, 1, 0), {}),
        # bits of a mask: 6 is binary 110
        ([6.0], [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (0, 2, 2, 1.0)], [FREE] * 3, [], (3, 0, 0), {0: 0.0, 1: 1.0, 2: 1.0}),
        # the same where they are not set
        (
            [6.0],
            [(0, 0, CLEAR, 1.0), (0, 1, CLEAR - 1, 1.0), (0, 2, CLEAR - 2, 1.0)],
            [FREE] * 3,
            [],
            (3, 0, 0),
            {0: 1.0, 1: 0.0, 2: 0.0},
        ),
        ([-1.0, 1e19], [(0, 0, CLEAR, 1.0), (1, 1, CLEAR - 1, 1.0)], [FREE] * 2, [], (0, 2, 0), {}),
        ([-1.0], [(0, 0, 0, 1.0)], [FREE], [], (0, 1, 0), {}),
        ([1e19], [(0, 0, 0, 1.0)], [FREE], [], (0, 1, 0), {}),
        # information is 1 whatever the source sends, even NaN
        ([math.nan], [(0, 0, CONSTANT, 1.0)], [FREE], [], (1, 0, 0), {0: 1.0}),
        # bounds are inclusive, in the canonical unit; infinity is a value
        ([0.0, 5.0], TWO, [SMALL] * 2, [], (2, 0, 0), {0: 0.0, 1: 5.0}),
        ([-1.0, 6.0], TWO, [SMALL] * 2, [], (0, 0, 2), {}),
        ([math.inf], [(0, 0, PLAIN, 1.0)], [FREE], [], (1, 0, 0), {0: math.inf}),
        # a saturated counter
        ([255.0, 254.0], TWO, [BYTE] * 2, [], (1, 0, 1), {1: 254.0}),
        # sentinels are closed ranges of the source's numbers, before the scale
        ([9.0, 10.0, 12.0, 13.0], DOUBLED, [FREE] * 4, [(10, 12)], (2, 2, 0), {0: 18.0, 3: 26.0}),
    ],
)  # fmt: skip
def test_canonical_values(
    compiled: bool,
    tokens: list[float],
    entries: list[tuple[int, int, int, float]],
    bounds: list[tuple[float, float, float]],
    sentinels: list[tuple[float, float]],
    counts: tuple[int, int, int],
    values: dict[int, float],
) -> None:
    assert finish(compiled, tokens, entries, bounds, sentinels) == (counts, values)
