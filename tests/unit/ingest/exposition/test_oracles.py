"""What is accepted and refused, and what is read: compiled, in plain Python, and by prometheus_client's two parsers.

Where we differ from it we do so on purpose: each difference has a name, which is a row of the table in the docs.
"""

import contextlib
import math
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from common.errors import BadInput
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.series_layout import COMPILED
from telemetry.series import series_key
from tests.unit.ingest.exposition.test_exposition_body import NOW_NS, Everything

DOCS = Path(__file__).parents[4] / "docs" / "collectors" / "exposition.md"
METADATA, VALUES, BLANKS, EXEMPLARS, LABELS, COMMENTS, FIRST, NUMBERS, SPACES, NAMES, STRICT = (
    "metadata",
    "values by type",
    "blanks",
    "exemplars",
    "labels",
    "comments",
    "first sample",
    "digits",
    "other white space",
    "names",
    "whole line",
)
LONG = "x" * 130
AT = "1760000000"
Read = Mapping[str, float] | None
"""The samples of a body that have a value, by series; None where it is refused."""

AGREED_OPENMETRICS = (
    "a 1", "a{} 1", 'a{b="c"} 1', 'a{b="é"} 1', r'a{b="\n\\\""} 1', r'a{b="\x"} 1', 'a{ b="c"} 1', 'a{b ="c"} 1',
    'a{b= "c"} 1', 'a{b="c" } 1', '{"a","b"="c"} 1', '# TYPE "a.b" gauge|{"a.b"} 1',
    "a NaN", "a nan", "a Inf", "a +Inf", "a -Inf", "a infinity", "a 1e400", "a .5", "a 5.", "a -.5e-3", "a +5",
    f"a 1 {AT}", f"a 1 {AT}.5", f"a 1 {AT}.123456789", "a 1|b 2", "# TYPE a unknown|a 1",
    "# HELP a x|# TYPE a counter|a_total 1|a_created 5", "# TYPE a_s counter|# UNIT a_s s|a_s_total 1",
    '# TYPE a histogram|a_bucket{le="1"} 1|a_bucket{le="+Inf"} 2|a_count 2|a_sum 1',
    '# TYPE a gaugehistogram|a_bucket{le="+Inf"} 1|a_gcount 1|a_gsum 1',
    '# TYPE a summary|a{quantile="0.5"} 1|a_count 1|a_sum 1', '# TYPE a info|a_info{b="c"} 1',
    '# TYPE a stateset|a{a="x"} 1|a{a="y"} 0', '# TYPE a counter|a_total 1 # {t="x"} 1',
    f'# TYPE a counter|a_total 1 {AT} # {{t="x"}} 1 2', "# TYPE a counter|a_total 1 # {} 1",
    # refused by all
    "a", "a ", "1a 1", "a-b 1", "é 1", "a one", "a 1x", "a 0x10", "a 1_000", "a --5", "a 1e", "a 1 2 3", "a 1 1x",
    "a 1 1_0", "{} 1", '{a="b"} 1', 'a{"b"} 1', '{"a","b"} 1', "a{b='c'} 1", "a{b=c} 1", 'a{b="c} 1', 'a{b="c"',
    'a{b="c"} ', 'a{b="c"" 1', 'a{b="c" d="e"} 1', 'a{,b="c"} 1', 'a{b="c",,d="e"} 1', 'a{1="b"} 1',
    'a{b="c",b="d"} 1', 'a{b="",b="d"} 1', 'a{b="c",b=""} 1', "a-0", "a1e5.5", "a+Inf",
    'a{__name__="b"} 1', "# EOF|a 1", "a 1|# EOF", "# EOF|# EOF",
    '# TYPE a counter|a_total 1 # {t="x"}', '# TYPE a counter|a_total 1 # {t="x"} one',
    '# TYPE a counter|a_total 1 # {t="x"} 1 2 3', '# TYPE a counter|a_total 1 # {t="x",t="y"} 1',
    "# TYPE a counter|a_total 1 # {,} 1", "# TYPE a counter|a_total 1 # t", '# TYPE a counter|a_total 1# {t="x"} 1',
)  # fmt: skip
DIFFERENT_OPENMETRICS = {
    METADATA: (
        "# TYPE a counter|# TYPE a counter|a_total 1", "# HELP a x|# HELP a x|a 1", "# TYPE a untyped|a 1",
        "# TYPE a badtype|a 1", "# TYPE a gauge|a 1|# HELP a x", "# TYPE a gauge|a 1|b 1|a 2", "# UNIT a s|a 1",
        "# TYPE a_s info|# UNIT a_s s|a_s_info 1", "# TYPE a counter|a 1", "# TYPE a_total counter|a_total 1",
        "# TYPE a gauge |a 1", "# HELP a|a 1", "# TYPE a|a 1", "# HELP a-b x|a 1",
        '# TYPE a gauge|a{b="1"} 1|a{b="2"} 1|a{b="1"} 1', f"# TYPE a gauge|a 1 {AT}|a 2",
    ),
    VALUES: (
        "# TYPE a counter|a_total -1", "# TYPE a counter|a_total NaN", "# TYPE a info|a_info 2",
        '# TYPE a stateset|a{a="x"} 2', "# TYPE a stateset|a 1", '# TYPE a histogram|a_bucket{le="1"} 1',
        '# TYPE a histogram|a_bucket{le="1"} 2|a_bucket{le="+Inf"} 1', '# TYPE a histogram|a_bucket{le="x"} 1',
        '# TYPE a histogram|a_bucket{le="+Inf"} 1|a_count 2|a_sum 1', "# TYPE a histogram|a_bucket 1",
        '# TYPE a histogram|a_bucket{le="+Inf"} 1.5', '# TYPE a summary|a{quantile="2"} 1',
        '# TYPE a summary|a{quantile="0.5"} -1',
    ),
    EXEMPLARS: (
        'a 1 # {t="x"} 1', f'# TYPE a counter|a_total 1 # {{t="{LONG}"}} 1',
        '# TYPE a counter|a_total 1 # {t="x"} 1 NaN', '# TYPE a counter|a_total 1 #{t="x"} 1',
        '# TYPE a counter|a_total 1 #  {t="x"} 1', '# TYPE a counter|a_total 1 # {t="x"}1',
        '# TYPE a counter|a_total 1 # {t="x"} 1 ',
    ),
    BLANKS: ("a 1 |b 2", "a  1", "a\t1", f"a 1  {AT}", " a 1", "|a 1", 'a{b="c"}  1', 'a{b="c"}1', 'a {b="c"} 1'),
    COMMENTS: ("# a comment|a 1", "#|a 1", "# FOO a b|a 1"),
    LABELS: ('a{b="c",} 1', '{"a.b"} 1', '{"a.b",c="d"} 1', 'a{b:c="d"} 1', 'a{__x="b"} 1'),
    NUMBERS: ("a ٣", "a 1 ٣", "a 1 NaN", "a 1 Inf"),
    SPACES: ('a{b="c"}\r1', 'a{b="c"}\xa01', 'a{b="c"}\v1'),
}  # fmt: skip
AGREED_TEXT = (
    "a 1", "  a 1  ", "a\t1", "a  1", "|a 1||", "# a comment|a 1", "#|a 1", "# HELP a|a 1", "# TYPE a untyped|a 1",
    'a{b="c",} 1', 'a {b="c"} 1', 'a{b="c"}1', '{"a.b"} 1', '{"a.b",c="d"} 1', r'a{b="\n\\\""} 1', "a NaN", "a +Inf",
    "a 1e400", "a .5", f"a 1 {AT}000", '# TYPE a histogram|a_bucket{le="1"} 1', "# TYPE a gauge|# TYPE a gauge|a 1",
    "# EOF|a 1",
    # refused by all
    "a", "a one", "a 1_000", "a 0x10", "1a 1", "a-b 1", "a 1 1_0", 'a{b="c} 1', "a{b='c'} 1", 'a{b="c" d="e"} 1',
    'a{b="c",b="d"} 1', 'a{b="",b="d"} 1', 'a{b="c",b=""} 1', "a-0", "a1e5.5",
    'a{__name__="b"} 1', '{a="b"} 1', "{} 1", 'a{b="c",,d="e"} 1',
)  # fmt: skip
DIFFERENT_TEXT = {
    METADATA: ("# TYPE a badtype|a 1", "# TYPE a|a 1", "# HELP a-b x|a 1", "# TYPE a counter|a 1"),
    STRICT: ("a 1 2 3", 'a 1 # {t="x"} 1', "a 1 NaN", "a 1 1.5", f"a 1 {AT}e3"),
    LABELS: ('a{,b="c"} 1', 'a{b:c="d"} 1', 'a{__x="b"} 1'),
    NUMBERS: ("a ٣", "a 1 ٣"),
    SPACES: ('a{b="c"}\r1', 'a{b="c"}\xa01', 'a{b="c"}\v1'),
    NAMES: ("a-b{} 1", "1a{} 1", "é{} 1", "a.b{} 1"),
    FIRST: ("a 1|a 2",),
}  # fmt: skip


def body_of(text: str, openmetrics: bool) -> bytes:
    return (text.replace("|", "\n") + "\n" + "# EOF\n" * openmetrics).encode()


def oracle(body: bytes, openmetrics: bool) -> Read:
    found: dict[str, float] = {}
    try:
        for family in (openmetrics_families if openmetrics else text_families)(body.decode()):
            for sample in family.samples:
                labels = {name: value for name, value in sample.labels.items() if value}
                found[series_key(sample.name, labels)] = float(sample.value)
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return {key: value for key, value in found.items() if not math.isnan(value)}


def ours(body: bytes, openmetrics: bool, *, compiled: bool) -> Read:
    """Of a body that is new; the same body once more, by its layout, must give the same."""
    reader = BodyReader("job/a:1", "node1", Everything(), compiled=compiled)
    first, again = (_read(reader, body, openmetrics) for _ in range(2))
    assert again == first
    return first


def _read(reader: BodyReader, body: bytes, openmetrics: bool) -> Read:
    try:
        found = reader.read(body, NOW_NS, openmetrics=openmetrics)
    except BadInput:
        return None
    return {found.table.keys[row]: float(value) for row, value in zip(found.series, found.values, strict=True)}


def both(body: bytes, openmetrics: bool) -> Read:
    plain = ours(body, openmetrics, compiled=False)
    if COMPILED:
        assert ours(body, openmetrics, compiled=True) == plain
    return plain


AGREED = [(text, True) for text in AGREED_OPENMETRICS] + [(text, False) for text in AGREED_TEXT]
DIFFERENT = [
    (name, text, openmetrics)
    for openmetrics, cases in ((True, DIFFERENT_OPENMETRICS), (False, DIFFERENT_TEXT))
    for name, texts in cases.items()
    for text in texts
]


@pytest.mark.parametrize(("text", "openmetrics"), AGREED)
def test_all_readers_agree(text: str, openmetrics: bool) -> None:
    body = body_of(text, openmetrics)
    assert both(body, openmetrics) == oracle(body, openmetrics)


@pytest.mark.parametrize(("name", "text", "openmetrics"), DIFFERENT)
def test_a_difference_is_still_one(name: str, text: str, openmetrics: bool) -> None:
    """Else its row in the docs says something that is no longer so."""
    body = body_of(text, openmetrics)
    assert both(body, openmetrics) != oracle(body, openmetrics), name


def test_each_difference_is_a_row_of_the_docs() -> None:
    section = DOCS.read_text().partition("## Where it differs from prometheus_client")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([a-z ]+) \|", section, re.MULTILINE)) - {"difference"} == {
        name for name, _, _ in DIFFERENT
    }


PIECES = (
    "a", "b_total", "{", "}", 'x="y"', 'z="1"', ",", '"', "\\", "=", "1", "-2.5", "NaN", "+Inf", "1e3", AT, AT + "000",
    " ", " ", "\t", "\n", "\n", "#", "# EOF\n", "# TYPE a counter\n", "# HELP a b\n", ' # {t="u"} 1', "é", "\r", "\x00",
)  # fmt: skip


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25), openmetrics=st.booleans())
@settings(max_examples=500, deadline=None)
def test_the_compiled_reader_agrees_with_the_plain_one_on_any_page(pieces: list[str], openmetrics: bool) -> None:
    both(body_of("".join(pieces), openmetrics), openmetrics)


series = st.sampled_from(("a", 'a{x="1"}', 'a{x="2",y="é"}', r'b{x="\\\"\n}"}', "c"))
values = st.sampled_from(("1", "-2.5", "1e3", "+Inf", "-Inf", "NaN", "0.1", "9007199254740993"))
suffixes = st.sampled_from(("", f" {AT}"))
mistakes = st.sampled_from(("a", "a x", 'a{x="1} 1', "a{x=1} 1", "a 1 2 3", "1a 1", 'a{x="1",x="2"} 1', "# EOF"))


@given(
    lines=st.dictionaries(series, st.tuples(values, suffixes), min_size=1),
    mistake=st.none() | mistakes,
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_a_page_with_or_without_a_mistake_is_judged_as_prometheus_client_does(
    lines: dict[str, tuple[str, str]], mistake: str | None, data: st.DataObject
) -> None:
    # sorted: families that are interleaved are a difference of "metadata", as are some times without others
    behind = data.draw(suffixes)
    page = [f"{name} {value}{behind}" for name, (value, _) in sorted(lines.items())]
    if mistake is not None:
        page.insert(data.draw(st.integers(0, len(page))), mistake)
    body = body_of("|".join(page), openmetrics=True)
    assert both(body, openmetrics=True) == oracle(body, openmetrics=True)


HOSTILE = {
    "new series": b'a{x="%d"} 1\n',
    "one series": b"a 1\n",
    "blank lines": b"\n",
    "comments": b"# EOF \n",
    "blanks": b"a \t \t \t 1\n",
    "open quotes": b'# "{"{"{\n',
    "backslashes": rb'a{x="%d\\\\\\\\\\\\\"\"\"\""} 1' + b"\n",
    "exemplars": b'a{x="%d"} 1 # {t="x"} 1\n',
    "collisions of names": b'a%d{x="",y=""} 1\n',
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("compiled", [True, False] if COMPILED else [False])
def test_time_grows_linearly_with_a_hostile_page(line: bytes, compiled: bool) -> None:
    """CPU time of n and 4n lines: quadratic would be sixteen times as much."""

    def cost_s(count: int) -> float:
        page = b"".join(line % number if b"%d" in line else line for number in range(count)) + b"# EOF\n"
        best_s = math.inf
        for _ in range(3):
            reader = BodyReader("job/a:1", "node1", Everything(), compiled=compiled)
            began_s = time.process_time()
            with contextlib.suppress(BadInput):
                reader.read(page, NOW_NS, openmetrics=True)
            best_s = min(best_s, time.process_time() - began_s)
        return best_s

    assert cost_s(8000) < 10 * cost_s(2000) + 0.05
