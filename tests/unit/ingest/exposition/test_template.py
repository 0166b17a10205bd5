"""Templates and layouts of small bodies, by hand."""

import math

import numpy as np
import pytest

from ingest.collectors.exposition.decode.layout import Layout, build_layout
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import CONSTANT, PLAIN, BodyTemplate, Spans, build_template

BODY = b'# HELP a b\na 1.5\nb{x="y"} 2 1700\n\nc 3'


def spans(*rows: tuple[int, ...]) -> Spans:
    """Rows of series, line, line_end, value, value_end, time, time_end."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
    return Spans(*(np.ascontiguousarray(column) for column in columns))


SPANS = spans((0, 11, 16, 13, 16, -1, -1), (1, 17, 33, 26, 27, 28, 32), (2, 34, 37, 36, 37, -1, -1))


def entry(key: str, **changed: object) -> Entry:
    values = {"scale": 1.0, "bit": PLAIN, "low": -math.inf, "high": math.inf, "saturated": math.nan, "adds": False}
    return Entry(key, **{**values, **changed})  # type: ignore[arg-type]


def layout(entries: list[tuple[Entry, ...]]) -> Layout:
    template = build_template(BODY, SPANS, openmetrics=False)
    return build_layout(template, SPANS, entries, "job/a:1", "node1")


def test_the_example_has_the_spans_that_it_claims() -> None:
    rows = zip(SPANS.value, SPANS.value_end, SPANS.time, SPANS.time_end, strict=True)
    assert [(BODY[a:b], BODY[c:d] if c >= 0 else None) for a, b, c, d in rows] == [
        (b"1.5", None),
        (b"2", b"1700"),
        (b"3", None),
    ]


def test_a_template_is_the_body_without_its_numbers() -> None:
    template = build_template(BODY, SPANS, openmetrics=False)
    assert template.pieces == (b"# HELP a b\na ", b'\nb{x="y"} ', b" ", b"\n\nc ", b"")
    assert template.static.tobytes() == b'# HELP a b\na \nb{x="y"}  \n\nc '
    assert template.ends.tolist() == [13, 23, 24, 28, 28]
    assert template.tokens == 4
    assert template.whole.tolist() == [0, 0, 1, 0]
    assert not template.exemplars


def test_the_lines_of_a_template_have_a_head_and_a_count_of_numbers() -> None:
    assert build_template(BODY, SPANS, openmetrics=False).lines == (
        (b"# HELP a b", 0),
        (b"a ", 1),
        (b'b{x="y"} ', 2),
        (b"", 0),
        (b"c ", 1),
    )


@pytest.mark.parametrize(("openmetrics", "behind"), [(True, b""), (False, b' # {t="1"} 5')])
def test_an_exemplar_is_no_part_of_an_openmetrics_template(openmetrics: bool, behind: bytes) -> None:
    body = b'a 1 # {t="1"} 5\n'
    template = build_template(body, spans((0, 0, 15, 2, 3, -1, -1)), openmetrics=openmetrics)
    assert template.pieces == (b"a ", behind + b"\n")
    assert template.exemplars is openmetrics


def test_a_body_without_samples_is_its_own_template() -> None:
    template = build_template(b"# a\n", spans(), openmetrics=False)
    assert (template.tokens, template.pieces) == (0, (b"# a\n",))


def test_rows_are_numbered_by_their_first_appearance() -> None:
    found = layout([(entry("m{}"),), (entry("n{}"),), ()])
    assert found.series.table.keys == ("m{}", "n{}")
    assert (found.series.table.target, found.series.table.device) == ("job/a:1", "node1")
    assert found.series.entries.tolist() == [[0, 1], [0, 1], [PLAIN, PLAIN]]
    assert found.time is not None
    assert found.time.tolist() == [-1, 2]  # the token behind the second value
    assert found.series.duplicates == 0


def test_limits_and_scales_follow_the_entries() -> None:
    found = layout([(entry("m{}", scale=1000.0, low=0.0, high=5.0, saturated=255.0),), (), ()])
    assert found.series.scale.tolist() == [1000.0]
    assert found.series.bounds.tolist() == [[0.0], [5.0], [255.0]]


def test_one_series_may_feed_several_rows_and_several_series_one() -> None:
    both = (entry("sum{}", adds=True, scale=2.0, part="a{}"), entry("bit{}", bit=3))
    found = layout([both, (entry("sum{}", adds=True, part="b{}"),), (entry("sum{}", adds=True, part="c{}"),)])
    assert found.series.table.keys == ("sum{}", "bit{}")
    tokens, rows, bits = found.series.entries.tolist()
    assert (tokens, rows, bits) == ([0, 1, 3, 0], [0, 0, 0, 1], [PLAIN, PLAIN, PLAIN, 3])
    assert found.series.scale.tolist() == [2.0, 1.0, 1.0, 1.0]


def test_of_series_under_their_own_name_only_so_many_are_kept() -> None:
    kept = [(entry(f"m{n}{{}}", kept=True),) for n in range(3)]
    found = build_layout(build_template(BODY, SPANS, openmetrics=False), SPANS, kept, "job/a:1", "node1", 2)
    assert (found.series.table.keys, found.series.unmapped, found.series.duplicates) == (("m0{}", "m1{}"), 1, 0)


def test_a_second_series_of_one_row_is_a_duplicate_unless_it_is_information() -> None:
    assert layout([(entry("m{}"),), (entry("m{}"),), (entry("m{}"),)]).series.duplicates == 2
    info = entry("m_info{}", bit=CONSTANT)
    found = layout([(info,), (info,), (info,)])
    assert (found.series.duplicates, found.series.entries.tolist()) == (0, [[0], [0], [CONSTANT]])


def test_a_body_without_timestamps_has_no_time_column() -> None:
    plain = spans((0, 0, 3, 2, 3, -1, -1))
    template: BodyTemplate = build_template(b"a 1\n", plain, openmetrics=False)
    found = build_layout(template, plain, [(entry("m{}"),)], "t", "d")
    assert found.time is None


def test_a_body_outside_the_catalogue_has_no_rows() -> None:
    found = layout([(), (), ()])
    assert (found.series.table.keys, found.series.entries.shape, found.series.bounds.shape) == ((), (3, 0), (3, 0))
