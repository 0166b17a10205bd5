"""Regular expressions of settings: those that a backtracking engine may need for ever are refused."""

import math
import re
import warnings
from functools import lru_cache

PATTERN_CHARS_MAX = 200
VALUE_CHARS_MAX = 255
REPETITIONS_MAX = 3
WORK_MAX = 2**23
"""Steps for one value, at most: a few tenths of a second, and far less where nobody means harm."""

# nested repetition is what makes a backtracking engine exponential: (a+)+, (a*b?){9}
_NESTED = re.compile(r"[*+}]\)\s*[*+{]|[*+?}]\s*\)[*+{]|\|.*\)[*+{]")
_ESCAPED_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPETITION = re.compile(r"[*+{]")
_OPTIONAL = re.compile(r"(?<![(*+?}])\?")


@lru_cache(maxsize=1000)
def compile_bounded(pattern: str) -> re.Pattern[str]:
    """``.`` is any character. ValueError for what does not compile, is too long, or may take too long to match.

    >>> compile_bounded("port:(leaf|spine)[0-9]+/.*").fullmatch("port:leaf1/Ethernet4") is not None
    True
    """
    if len(pattern) > PATTERN_CHARS_MAX:
        raise ValueError(f"pattern {pattern[:80]!r}…: expected at most {PATTERN_CHARS_MAX} characters")
    plain = _ESCAPED_OR_SET.sub("x", pattern)
    if _NESTED.search(plain):
        raise ValueError(f"pattern {pattern!r}: repetition inside a repetition is not accepted")
    if _repetitions(plain) > REPETITIONS_MAX:
        raise ValueError(f"pattern {pattern!r}: at most {REPETITIONS_MAX} repetitions")
    if math.comb(VALUE_CHARS_MAX, _repetitions(plain)) * _choices(plain) > WORK_MAX:
        raise ValueError(f"pattern {pattern!r}: too many alternatives and repetitions that multiply")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what a later version of Python may read differently
            return re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"pattern {pattern!r}: expected a regular expression: {error}") from None


def _repetitions(plain: str) -> int:
    """Each one multiplies the work by the length of the value: three over 255 characters are some milliseconds."""
    return len(_REPETITION.findall(plain))


def _choices(plain: str) -> int:
    """In how many ways alternatives and optional parts can be combined, at most; those of no group only add up."""
    choices, bars = 1 << len(_OPTIONAL.findall(plain)), [0]
    for char in plain:
        if char == "(":
            bars.append(0)
        elif char == "|":
            bars[-1] += 1
        elif char == ")" and len(bars) > 1:
            choices *= bars.pop() + 1
    return choices
