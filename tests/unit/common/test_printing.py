"""Text from elsewhere, made fit for a terminal and a log."""

import time

import pytest

from common.printing import escape_controls, mask_userinfo, printable
from tests.hostile_texts import HOSTILE_TEXTS

CONTROLS = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\u061c", "\u202e", "\u2066"]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: f"U+{ord(control):04X}")
def test_no_control_character_is_left(control):
    assert escape_controls(f"a{control}b") == f"a\\u{ord(control):04x}b"


def test_no_hostile_text_acts_on_a_terminal():
    for text in HOSTILE_TEXTS:
        assert not {*CONTROLS, "\u200e", "\u200f"} & set(printable(text))
        assert "s3cret" not in printable(text)


def test_lines_may_stay():
    assert escape_controls("a\nb\r\x1bc", keep_lines=True) == "a\nb\\u000d\\u001bc"


@pytest.mark.parametrize("text", ["", "plain", "Grüße, 火, 😀", 'a "quoted" \\ word', "a@b"])
def test_other_text_stays_as_it_is(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("http://user:pw@host/", "http://***@host/"),
        ("https://token@host:9090/api?x=1", "https://***@host:9090/api?x=1"),
        ("a http://u:p@a, b http://u:p@b", "a http://***@a, b http://***@b"),
        ("kafka://u:p%40q@[::1]:9092", "kafka://***@[::1]:9092"),
        ("http://u:p@ss@host/x", "http://***@host/x"),
        ("http://u:pa/ss@host/x", "http://***@host/x"),
        ("http://u:pa?ss#x@host/x", "http://***@host/x"),
        ("url='http://u:p@host' other='x@y'", "url='http://***@host' other='x@y'"),
        ('{"url":"http://u:p@host","who":"x@y"}', '{"url":"http://***@host","who":"x@y"}'),
        ("http://host/x@y", "http://host/x@y"),
        ("http://host:9090/x@y", "http://host:9090/x@y"),
        ("http://host:9090/x http://u:p@h", "http://host:9090/x http://***@h"),
        ("mail carol@example.org", "mail carol@example.org"),
    ],
)
def test_user_names_and_passwords_of_addresses_are_masked(text, masked):
    assert mask_userinfo(text) == masked


@pytest.mark.parametrize("text", ["http://u:" * 50_000 + "@", "@" + "://u:x" * 50_000, "://" * 100_000 + "@"])
def test_no_text_takes_long(text):
    started_s = time.process_time()
    mask_userinfo(text)
    assert time.process_time() - started_s < 30  # 0.1 s; a quadratic expression takes minutes
