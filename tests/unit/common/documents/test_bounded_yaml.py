"""Files that others write: read when they are in bounds, refused with the place when not."""

import json
import time
import tracemalloc

import pytest

from common.documents.bounded_yaml import BYTES_MAX, DEPTH_MAX, parse_bounded
from common.errors import BadInput


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", None),
        (b"# nothing\n", None),
        (b"[]", []),
        (b'[{"targets": ["a:1"]}]', [{"targets": ["a:1"]}]),
        (b"- targets: [a:1]\n  labels: {rack: r1}\n", [{"targets": ["a:1"], "labels": {"rack": "r1"}}]),
        (b"- targets: &t [a:1]\n", [{"targets": ["a:1"]}]),  # an anchor alone multiplies nothing
        ("- tôken\n".encode(), ["tôken"]),
        (b"[" * DEPTH_MAX + b"]" * DEPTH_MAX, json.loads("[" * DEPTH_MAX + "]" * DEPTH_MAX)),
    ],
)
def test_what_is_in_bounds_is_read(content, expected):
    assert parse_bounded(content, "here") == expected


BOMB = b"a: &a [x, x]\n" + b"".join(b"%c: &%c [*%c, *%c]\n" % (c, c, c - 1, c - 1) for c in range(ord("b"), ord("z")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" " * (BYTES_MAX + 1), f"here: expected at most {BYTES_MAX} bytes"),
        (BOMB, "here:2:8: aliases are not accepted"),
        (b"- &a [b]\n- *a\n", "here:2:3: aliases are not accepted"),
        (b'[{"targets": [], "targets": ["a:1"]}]', "here: key 'targets' is defined twice"),
        (b"- a: 1\n  b: {x: 1, x: 2}\n", "here:2:13: x is defined twice"),
        (b"[" * 51 + b"]" * 51, "here: nested deeper than 50 levels"),
        (b'{"a":' * 51 + b"1" + b"}" * 51, "here: nested deeper than 50 levels"),
        (b"- " * 51 + b"x", "here:1:101: nested deeper than 50 levels"),
        (b"[" * 100_000, "here:1:51: nested deeper than 50 levels"),
        (b"- a\n- {b\n", "here:3:1: did not find expected"),
        (b"a: b: c\n", "here:1:5: mapping values are not allowed"),
        (b"- 2026-13-01\n", "here: month must be in 1..12"),
        (b"- \xff\n", "here: not UTF-8 at byte 2"),
        (b"- !!python/object:os.system {}\n", "here:1:3: could not determine a constructor"),
        (b"a\n---\nb\n", "here:2:1: but found another document"),
        (b"- \x00\n", "here: "),
    ],
)
def test_what_is_not_in_bounds_is_refused_with_its_place(content, message):
    with pytest.raises(BadInput) as caught:
        parse_bounded(content, "here")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("content", [BOMB, b"[" * BYTES_MAX, b"- " * (BYTES_MAX // 2), b'{"a":' * (BYTES_MAX // 8)])
def test_a_hostile_file_costs_neither_time_nor_memory(content):
    tracemalloc.start()
    started_s = time.process_time()
    with pytest.raises(BadInput):
        parse_bounded(content, "here")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - started_s < 30  # 0.1 s; what is quadratic takes an hour
    assert peak_bytes < 16 * BYTES_MAX
