"""Which patterns of settings are accepted, and that these do not take for ever."""

import pytest

from common.patterns import PATTERN_CHARS_MAX, VALUE_CHARS_MAX, compile_bounded


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "port:leaf1/.*",
        "(.*)",
        "([^:]+)(?::\\d+)?;(\\d+)",
        "port:(leaf[1-9]|spine[1-4])/Ethernet(4|8|12|16)",
        "|".join(f"node{number}" for number in range(20)),
        "a\\*\\*\\*\\*[*+?]",
        "(?i:warning|critical)",
        ".*?/.*?",
    ],
)
def test_what_people_write_is_accepted(pattern: str) -> None:
    compile_bounded(pattern).fullmatch("a" * VALUE_CHARS_MAX)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a+)+", "inside a repetition"),
        ("(a*)*b", "inside a repetition"),
        ("(a|a)*", "inside a repetition"),
        ("(x{1,9}){9}", "inside a repetition"),
        (".*.*.*.*x", "at most 3 repetitions"),
        ("a?" * 60 + "a" * 60, "multiply"),
        ("(a|a)" * 30, "multiply"),
        ("(a|a)" * 8 + "a*a*a*b", "multiply"),
        ("[", "unterminated"),
        ("a{99999999999999999999}", "too large"),
        ("x" * (PATTERN_CHARS_MAX + 1), "at most 200 characters"),
    ],
)
def test_what_may_take_for_ever_or_does_not_compile_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", ["a*a*a*b", "(a|a)a*a*a*b", "(a|a)" * 8 + "a*a*b", "(a|a)" * 20 + "b"])
def test_the_slowest_that_are_accepted_end(pattern: str) -> None:
    assert compile_bounded(pattern).fullmatch("a" * VALUE_CHARS_MAX) is None
