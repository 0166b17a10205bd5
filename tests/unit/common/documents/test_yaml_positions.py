"""Where keys of a YAML file are, and files that are refused."""

from pathlib import Path

import pytest

from common.documents.yaml_positions import BYTES_MAX, DEPTH_MAX, load_with_positions, locate
from common.errors import ConfigError

TEXT = """\
# a comment
global:
  cluster: pod1

scrape_configs:
  - job_name: a
    targets: [x, y]
  -   job_name: b
api: {port: 1, "host": h}
7: seven
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


@pytest.mark.parametrize(
    ("where", "position"),
    [
        (("global",), (2, 1)),
        (("global", "cluster"), (3, 3)),
        (("scrape_configs", 0), (6, 5)),
        (("scrape_configs", 0, "targets"), (7, 5)),
        (("scrape_configs", 0, "targets", 1), (7, 18)),
        (("scrape_configs", 1, "job_name"), (8, 7)),
        (("api", "port"), (9, 7)),
        (("api", "host"), (9, 16)),
        (("7",), (10, 1)),
    ],
)
def test_each_key_and_item_has_line_and_column(path, where, position):
    path.write_text(TEXT)
    document, positions = load_with_positions(path)
    assert positions[where] == position
    assert document["scrape_configs"][0]["targets"] == ["x", "y"]


@pytest.mark.parametrize(
    ("where", "place"),
    [
        (("global", "cluster"), "3:3"),
        (("global", "clutser"), "2:1"),  # the nearest key that is there
        (("scrape_configs", 0, "targets", 9, "x"), "7:5"),
        (("nothing",), "1:1"),
        ((), "1:1"),
    ],
)
def test_what_is_missing_is_located_at_the_nearest_key(path, where, place):
    path.write_text(TEXT)
    assert locate(path, load_with_positions(path)[1], where) == f"{path}:{place}"


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "---\n"])
def test_an_empty_file_is_an_empty_document(path, text):
    path.write_text(text)
    assert load_with_positions(path) == ({}, {})


def nested(levels: int) -> str:
    return "a: " + "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", r"a\.yaml:2:1: "),
        ("a: b: c\n", r"a\.yaml:1:5: mapping values are not allowed"),
        ("a: \t@x\n", r"a\.yaml:1:"),
        ("a: 'x\n", r"a\.yaml:2:1: found unexpected end of stream"),
        ("- a\n", r"a\.yaml:1:1: expected keys with values, found list"),
        ("text\n", r"a\.yaml:1:1: expected keys with values, found str"),
        ("a: 1\nb: 2\na: 3\n", r"a\.yaml:3:1: a is defined twice"),
        ("a:\n  b: 1\n  b: 2\n", r"a\.yaml:3:3: b is defined twice"),
        ("a: &x 1\nb: *x\n", r"a\.yaml:2:4: aliases are not accepted"),
        (nested(DEPTH_MAX + 2), rf"a\.yaml:1:{DEPTH_MAX + 4}: deeper than {DEPTH_MAX} levels"),
        ("a: " + "x" * BYTES_MAX, rf"a\.yaml: {BYTES_MAX + 3} characters, at most {BYTES_MAX}"),
        ("a: 2026-99-99\n", r"a\.yaml: not YAML"),
    ],
)
def test_a_file_that_is_refused(path, text, message):
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_with_positions(path)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_a_file_that_would_overflow_the_stack_is_refused(path, opening):
    path.write_text(opening * 250_000)
    with pytest.raises(ConfigError, match=rf"a\.yaml:1:\d+: deeper than {DEPTH_MAX} levels"):
        load_with_positions(path)


def test_the_deepest_file_that_is_accepted(path):
    path.write_text(nested(DEPTH_MAX - 1))
    assert len(load_with_positions(path)[1]) == DEPTH_MAX - 1


@pytest.mark.parametrize("content", [b"a: \xff\n", None])
def test_a_file_that_cannot_be_read_is_named(path, content):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"a\.yaml: cannot be read"):
        load_with_positions(path)
