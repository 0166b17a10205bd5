"""Scrape bodies to samples: real, generated and changing ones, against prometheus_client's parser."""

import contextlib
import math
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.exposition.decode.body import SERIES_MAX, BodyReader, BodySamples
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import PLAIN
from ingest.collectors.series_layout import COMPILED
from ingest.ledger import DropReason
from telemetry.series import series_key
from tests.samples import SAMPLES

NOW_NS = 1_760_000_000 * NS_PER_S
# A line of an exporter's own tests, with Go's format verb left in: not a body.
NOT_A_BODY = "format_verbs.prom"
BODIES = sorted(body for body in SAMPLES.rglob("*.prom") if body.name != NOT_A_BODY)

both = pytest.mark.parametrize("compiled", [True, False] if COMPILED else [False])


class Everything:
    """Maps each series to itself. calls: how often."""

    def __init__(self) -> None:
        self.calls = 0

    def map(self, name: str, labels: Mapping[str, str], /) -> list[Entry]:
        self.calls += 1
        return [Entry(series_key(name, labels), 1.0, PLAIN, -math.inf, math.inf, math.nan, False)]


def reader(compiled: bool = COMPILED, series_max: int = SERIES_MAX, mapper: Everything | None = None) -> BodyReader:
    return BodyReader("job/a:1", "node1", mapper or Everything(), compiled=compiled, series_max=series_max)


def samples(found: BodySamples) -> dict[str, float]:
    return {found.table.keys[row]: value for row, value in zip(found.series, found.values, strict=True)}


def oracle(body: str) -> dict[str, float]:
    """What prometheus_client reads, without NaN, the first of each series.

    It appends ``_total`` to what is declared as a counter without it, so nothing is declared as a counter.
    """
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(re.sub(r"(# TYPE \S+) counter", r"\1 gauge", body)):
        for sample in family.samples:
            labels = {label: text for label, text in sample.labels.items() if text}
            if not math.isnan(sample.value):
                found.setdefault(series_key(sample.name, labels), sample.value)
    return found


@both
@pytest.mark.parametrize("path", BODIES, ids=lambda path: path.name)
def test_real_bodies_equal_the_oracle(path: Path, compiled: bool) -> None:
    body = path.read_bytes()
    known = reader(compiled)
    expected = oracle(body.decode() + "\n")
    assert samples(known.read(body, NOW_NS)) == expected
    again = known.read_known(body, NOW_NS)
    assert again is not None
    assert samples(again) == expected


def test_there_are_real_bodies() -> None:
    assert len(BODIES) > 20


@both
def test_lines_that_are_not_a_body_are_refused(compiled: bool) -> None:
    with pytest.raises(BadInput, match="line 4, column 61"):
        reader(compiled).read((SAMPLES / "roce_ib_host" / NOT_A_BODY).read_bytes(), NOW_NS)


# ---- generated bodies

names = st.from_regex(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,8}", fullmatch=True)
label_names = st.from_regex(r"_?[a-zA-Z][a-zA-Z0-9_]{0,5}", fullmatch=True)  # the oracle refuses a leading "__"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
floats = st.one_of(
    st.floats(), st.integers(-(10**20), 10**20).map(float), st.sampled_from([0.1, 1e22, 1e23, 2**53 + 1.0])
)


def spellings(value: float) -> st.SearchStrategy[str]:
    if math.isnan(value):
        return st.just("NaN")
    if math.isinf(value):
        return st.sampled_from(["+Inf", "Inf"] if value > 0 else ["-Inf"])
    found = [repr(value), f"{value:e}", f"{value:.17g}", f"{value:.3f}", f"{value:+.6g}"]
    return st.sampled_from([text for text in found if text != "-0"])  # an integer to the oracle, which drops the sign


@st.composite
def lines(draw: st.DrawFn) -> str:
    labels = draw(st.dictionaries(label_names, texts, max_size=3))
    inside = draw(st.sampled_from([",", ", "])).join(
        f'{name}="{text.translate({92: chr(92) * 2, 34: chr(92) + chr(34), 10: chr(92) + "n"})}"'
        for name, text in labels.items()
    )
    name = draw(names) + (f"{{{inside}}}" if inside else "")
    return f"{name} {draw(spellings(draw(floats)))}"


def unique(sample_lines: list[str]) -> list[str]:
    """Without a second line of one series: the oracle and we agree on the first, but not on spelling."""
    seen: set[str] = set()
    kept = []
    for line in sample_lines:
        key = next(iter(oracle(line.rpartition(" ")[0] + " 1\n")))
        if key not in seen:
            seen.add(key)
            kept.append(line)
    return kept


def body_of(sample_lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in sample_lines).encode()


def same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(struct.pack("d", one[k]) == struct.pack("d", other[k]) for k in one)


@both
@given(sample_lines=st.lists(lines(), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_generated_bodies_equal_the_oracle_bit_for_bit(sample_lines: list[str], compiled: bool) -> None:
    body = body_of(unique(sample_lines))
    known = reader(compiled)
    assert same(samples(known.read(body, NOW_NS)), oracle(body.decode()))
    again = known.read_known(body, NOW_NS)
    assert again is not None
    assert same(samples(again), oracle(body.decode()))


@both
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_a_reader_that_has_read_other_bodies_reads_as_a_fresh_one(data: st.DataObject, compiled: bool) -> None:
    pool = unique(data.draw(st.lists(lines(), min_size=1, max_size=8)))
    known = reader(compiled)
    for _ in range(data.draw(st.integers(1, 4))):
        chosen = data.draw(st.lists(st.sampled_from(pool), min_size=1, unique=True))
        values = data.draw(st.lists(floats, min_size=len(chosen), max_size=len(chosen)))
        changed = [
            f"{line.rpartition(' ')[0]} {data.draw(spellings(value))}"
            for line, value in zip(chosen, values, strict=True)
        ]
        body = body_of(changed)
        assert same(samples(known.read(body, NOW_NS)), samples(reader(compiled).read(body, NOW_NS)))


@both
@given(body=st.binary(max_size=200) | st.text('ab{}=",\\ \n\t#1.eNa+-', max_size=60).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused_as_bad_input(body: bytes, compiled: bool) -> None:
    """And a refused body changes nothing."""
    known = reader(compiled)
    known.read(b"a 1\n", NOW_NS)
    for openmetrics in (False, True):
        with contextlib.suppress(BadInput):
            known.read(body, NOW_NS, openmetrics=openmetrics)
    assert samples(known.read(b"a 2\n", NOW_NS)) == {"a{}": 2.0}


# ---- single properties


@both
def test_a_layout_is_recognised_and_a_changed_one_is_not(compiled: bool) -> None:
    known = reader(compiled)
    known.read(b'# HELP a b\na{b="c"} 1\nd 2\n', NOW_NS)
    found = known.read_known(b'# HELP a b\na{b="c"} 15.5\nd -3e2\n', NOW_NS)
    assert found is not None
    assert samples(found) == {'a{b="c"}': 15.5, "d{}": -300.0}
    for body in (
        b'# HELP a x\na{b="c"} 1\nd 2\n',
        b'# HELP a b\na{b="x"} 1\nd 2\n',
        b'# HELP a b\na{b="c"} 1\nd 2\ne 3\n',
        b'# HELP a b\na{b="c"} 1\n',
        b'# HELP a b\na{b="c"} 1 5\nd 2\n',
        b'# HELP a b\na{b="c"} 1x\nd 2\n',
        b'# HELP a b\na{b="c"} \nd 2\n',
        b"",
    ):
        assert known.read_known(body, NOW_NS) is None


def lines_iter(count: int) -> Iterator[bytes]:
    return (b"a%d 1\n" % number for number in range(count))


@both
def test_series_that_are_gone_are_forgotten_in_the_end(compiled: bool) -> None:
    mapper = Everything()
    known = reader(compiled, mapper=mapper)
    bodies = [b"".join(b'job{id="%d-%d"} 1\n' % (day, number) for number in range(500)) for day in range(20)]
    for body in [*bodies, bodies[0]]:
        assert len(known.read(body, NOW_NS).values) == 500
    assert mapper.calls >= 21 * 500  # the first body's series were new again


@both
def test_too_many_series_are_refused(compiled: bool) -> None:
    known = reader(compiled, series_max=100)
    assert len(known.read(b"".join(lines_iter(100)), NOW_NS).values) == 100
    with pytest.raises(BadInput) as caught:
        known.read(b"".join(lines_iter(101)), NOW_NS)
    assert caught.value.reason == "too_many_series"


@both
@pytest.mark.parametrize("body", [b"<!DOCTYPE html><html>", b"\n\n <html>", b"\x1f\x8b\x08\x00\x00", b"\0"])
def test_other_documents_are_refused_as_such(body: bytes, compiled: bool) -> None:
    with pytest.raises(BadInput) as caught:
        reader(compiled).read(body, NOW_NS)
    assert caught.value.reason == "not_exposition"


@both
def test_openmetrics_needs_its_end(compiled: bool) -> None:
    assert samples(reader(compiled).read(b"a 1\n# EOF\n", NOW_NS, openmetrics=True)) == {"a{}": 1.0}
    for body in (b"a 1\n", b"a 1\n# EO", b"", b"a 1\n# EOF\nb 2\n"):
        with pytest.raises(BadInput) as caught:
            reader(compiled).read(body, NOW_NS, openmetrics=True)
        assert caught.value.reason == "truncated"


@both
@pytest.mark.parametrize(("body", "line"), [(b"# EOF\na 1\n# EOF\n", 2), (b"a 1\n# EOF\n# EOF\n", 3)])
def test_nothing_follows_the_end_of_openmetrics(body: bytes, line: int, compiled: bool) -> None:
    with pytest.raises(BadInput, match=f"^line {line}: expected nothing behind # EOF$") as caught:
        reader(compiled).read(body, NOW_NS, openmetrics=True)
    assert caught.value.reason == "bad_format"


@both
def test_exemplars_come_and_go_without_changing_the_layout(compiled: bool) -> None:
    known = reader(compiled)
    known.read(b'a_total 1 # {t="x"} 0.5\nb 2\n# EOF\n', NOW_NS, openmetrics=True)
    for body in (b'a_total 3 # {t="yy zz"} 7 1.5\nb 4\n# EOF\n', b"a_total 3\nb 4\n# EOF\n"):
        found = known.read_known(body, NOW_NS, openmetrics=True)
        assert found is not None
        assert samples(found) == {"a_total{}": 3.0, "b{}": 4.0}


@both
def test_nan_is_no_sample_and_infinity_is_one(compiled: bool) -> None:
    found = reader(compiled).read(b"a NaN\nb +Inf\nc -Inf\nd nan\n", NOW_NS)
    assert samples(found) == {"b{}": math.inf, "c{}": -math.inf}
    assert found.dropped == {DropReason.NO_VALUE: 2}
    assert found.received == 4


@both
def test_the_first_of_a_series_counts_and_the_others_are_dropped(compiled: bool) -> None:
    body = b'a{b="1",c="2"} 1\na{c="2",b="1"} 2\na{b="1",c="2"} 3\n'
    known = reader(compiled)
    for found in (known.read(body, NOW_NS), known.read(body, NOW_NS)):
        assert samples(found) == {'a{b="1",c="2"}': 1.0}
        assert found.dropped == {DropReason.DUPLICATE: 2}


@both
@pytest.mark.parametrize(("openmetrics", "unit"), [(False, 1000), (True, 1)])
def test_timestamps_are_event_time_within_bounds(compiled: bool, openmetrics: bool, unit: int) -> None:
    now_s = NOW_NS // NS_PER_S
    ages = {"old": -3601, "oldest": -3600, "none": None, "ahead": 300, "beyond": 301}
    samples_text = "".join(f"{name} 1 {'' if age is None else (now_s + age) * unit}\n" for name, age in ages.items())
    body = (samples_text + "# EOF\n").encode()
    known = reader(compiled)
    for found in (
        known.read(body, NOW_NS, openmetrics=openmetrics),
        known.read(body, NOW_NS, openmetrics=openmetrics),
    ):
        times = {found.table.keys[row]: time for row, time in zip(found.series, found.times_ns, strict=True)}
        assert times == {
            "oldest{}": NOW_NS - 3600 * NS_PER_S,
            "none{}": NOW_NS,
            "ahead{}": NOW_NS + 300 * NS_PER_S,
        }
        assert found.dropped == {DropReason.EVENT_TIME: 2}


@both
def test_timestamps_beyond_all_bounds_are_dropped_too(compiled: bool) -> None:
    body = b"a 1 99999999999999999999999\nb 1 -99999999999999999999999\nc 1 0\nd 2\n"
    found = reader(compiled).read(body, NOW_NS)
    assert samples(found) == {"d{}": 2.0}
    assert found.dropped == {DropReason.EVENT_TIME: 3}
