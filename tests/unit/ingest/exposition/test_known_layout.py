"""What a target may send does not depend on what it sent before, nor on whether numba is there."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import EXEMPLARS_CHEAP, BodyReader
from ingest.collectors.exposition.decode.line import LINE_BYTES_MAX
from ingest.collectors.series_layout import COMPILED
from tests.unit.ingest.exposition.test_exposition_body import Everything

NOW_NS = 1_760_000_000 * NS_PER_S
both = pytest.mark.parametrize("compiled", [True, False] if COMPILED else [False])

NAMES = ("a", 'b{x="1"}', 'b{x="y z"}', 'c {x="}"}', " d", '{"e.f"}', r'g{x="\"# {"}')
BLANKS = (" ", "  ", "\t", " \t ")
NUMBERS = ("1", "-0", "+7.5", "1e3", ".5", "1.", "NaN", "+Inf", "9007199254740993.5", "18446744073709551615")
NO_NUMBERS = ("1_0", "1x", "1\r", "1\x0b", "0x10", "1e", "--1", "1#", "\xa01", "#")
TIMES = ("1760000000000", "1760000000", "-5", "+5", "9" * 30, "1760000000.25", "1.", "+-5", "NaN", "1_0", "5\r", "0x1")
EXEMPLARS = ('# {t="x"} 1', '#{t="y # z"} 0.5 1.5', "# {}\t1", "# {} 1 ", '# {t="\xb5"} 1', "# {} NaN")
NO_EXEMPLARS = ("#", "# x", '# {t="x"}', '# {t="x"} one', "# {} 1 2 3", '# {t="x} 1', "#{} 1\r", "# {} 1 1_0")
ENDS = ("", " ", "\t", "\r", " \r", "\x0c")
LONG = 600  # more digits than are compared with a template


class Parts(NamedTuple):
    """One line: what is before the value, the value, what is before a timestamp and it, the same for an exemplar."""

    name: str
    blank: str
    value: str
    time: str
    exemplar: str
    end: str

    def __str__(self) -> str:
        return "".join(self)


def rarely(usual: tuple[str, ...], unusual: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.integers(0, 9).flatmap(lambda dice: st.sampled_from(usual if dice else unusual))


def behind(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Nothing, or this behind a blank."""
    return st.just("") | st.tuples(st.sampled_from(BLANKS), strategy).map("".join)


values = rarely(NUMBERS, NO_NUMBERS) | st.just("0" * LONG + "1")
times = behind(st.sampled_from(TIMES[:5])) | behind(st.sampled_from(TIMES))
exemplars = behind(rarely(EXEMPLARS, NO_EXEMPLARS))
PARTS = {
    "blank": st.sampled_from(BLANKS),
    "value": values,
    "time": times,
    "exemplar": exemplars,
    "end": rarely(("",), ENDS),
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two bodies with the same series in the same order, most of whose lines have the same form."""
    first = [
        Parts(name, *(draw(PARTS[part]) if draw(st.booleans()) else usual for part, usual in USUAL.items()))
        for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    ]
    changes = st.dictionaries(st.sampled_from(list(PARTS)), st.none(), max_size=2)
    second = [line._replace(**{part: draw(PARTS[part]) for part in draw(changes)}) for line in first]
    return body_of(first), body_of(second)


USUAL = {"blank": " ", "value": "1", "time": "", "exemplar": "", "end": ""}


def body_of(lines: list[Parts]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def outcome(reader: BodyReader, body: bytes, openmetrics: bool) -> tuple[object, ...]:
    """All that a body gives: its samples, bit for bit, or its error."""
    try:
        found = reader.read(body, NOW_NS, openmetrics=openmetrics)
    except BadInput as error:
        return error.reason, str(error)
    columns = found.times_ns.tolist(), found.series.tolist(), found.values.tobytes()
    return found.table.keys, *columns, found.dropped


def outcomes(before: bytes, body: bytes, openmetrics: bool) -> Iterator[tuple[object, ...]]:
    """Of a body that is the first one, that comes after another one, and once more; compiled and plain."""
    for compiled in (True, False) if COMPILED else (False,):
        new, used = (BodyReader("job/a:1", "node1", Everything(), compiled=compiled) for _ in range(2))
        yield outcome(new, body, openmetrics)
        outcome(used, before, openmetrics)
        yield outcome(used, body, openmetrics)
        yield outcome(used, body, openmetrics)


@given(bodies=pairs(), openmetrics=st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_body_gives_the_same_however_it_is_read(bodies: tuple[bytes, bytes], openmetrics: bool) -> None:
    before, body = (each + b"# EOF\n" * openmetrics for each in bodies)
    first, *others = outcomes(before, body, openmetrics)
    assert others == [first] * len(others)


# Each of these was taken for another thing on a known layout, or was an AssertionError.
DIFFERED = [
    pytest.param(b"a 1\n", b"a 1  # {} 1\n", True, None, id="an exemplar behind two blanks"),
    pytest.param(b"a 1\n", b'a 1\t# {t="x"} 1\n', True, None, id="an exemplar behind a tab"),
    pytest.param(b"a 1 # {} 1\n", b"a 1 # nonsense\n", True, "bad_format", id="an exemplar that is none"),
    pytest.param(b"a 1\n", b"a 1 #\n", True, "bad_format", id="an empty exemplar"),
    pytest.param(b"a 1 5\n", b"a 1 5.5\n", False, "bad_format", id="milliseconds with a fraction"),
    pytest.param(b"a 1 5\n", b"a 1 +-5\n", False, "bad_format", id="two signs"),
    pytest.param(b"a 1\n", b"a 1\r\n", False, "bad_format", id="CRLF"),
    pytest.param(b"a 1\n", b"a 1\x0c\n", False, "bad_format", id="form feed"),
    pytest.param(b"a 1\n", b"a 0." + b"1" * LINE_BYTES_MAX + b"\n", False, "too_large", id="a long number"),
    pytest.param(b"a 1\n", b"a " + b" " * LINE_BYTES_MAX + b"1\n", False, "too_large", id="many blanks"),
    pytest.param(
        b'a{x="' + b"b" * 8000 + b'",y="' + b"c" * 8000 + b'"} 1\n', b"a 1\n", False, None, id="a long line before"
    ),
]


@pytest.mark.parametrize(("before", "body", "openmetrics", "reason"), DIFFERED)
def test_a_known_layout_accepts_what_a_new_one_does(
    before: bytes, body: bytes, openmetrics: bool, reason: str | None
) -> None:
    end = b"# EOF\n" if openmetrics else b""
    first, *others = outcomes(before + end, body + end, openmetrics)
    assert others == [first] * len(others)
    assert first[0] == (reason or ("a{}",))


@both
def test_a_line_near_the_limit_is_measured_each_time(compiled: bool) -> None:
    """A number that grows by a few digits makes the line too long."""
    labels = ",".join(f'l{n}="{"x" * 8000}"' for n in range(8))
    line = f"a{{{labels}}} 1".encode()
    room = LINE_BYTES_MAX - len(line)
    line = line.replace(b'="x', b'="x' + b"x" * (room // 8), 8)
    room = LINE_BYTES_MAX - len(line)
    reader = BodyReader("job/a:1", "node1", Everything(), compiled=compiled)
    for extra in (0, room):
        assert reader.read(line + b"1" * extra + b"\n", NOW_NS).values.size == 1
    with pytest.raises(BadInput) as caught:
        reader.read(line + b"1" * (room + 1) + b"\n", NOW_NS)
    assert caught.value.reason == "too_large"


def test_many_exemplars_are_left_to_the_caller_who_can_wait() -> None:
    """Each is parsed for itself: 50,000 of them on the event loop would stall every other target."""
    lines = b"".join(b'm{row="%d"} 1 # {id="a"} 2\n' % row for row in range(EXEMPLARS_CHEAP + 1))
    few, many = lines.split(b"\n", 1)[1] + b"# EOF\n", lines + b"# EOF\n"
    for body, cheap in ((few, True), (many, False)):
        reader = BodyReader("job/a:1", "node1", Everything(), compiled=True)
        first = reader.read(body, NOW_NS, openmetrics=True)
        known = reader.read_known(body, NOW_NS, openmetrics=True)
        assert (known is not None) is cheap
        again = reader.read(body, NOW_NS, openmetrics=True)
        assert again.values.tolist() == first.values.tolist()
        assert again.table is first.table, "still by the layout that it knows"
