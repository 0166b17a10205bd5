"""Which names of a system the catalogue leaves out on purpose."""

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache

from telemetry.catalogue import Ignored, source, source_names

_NOTHING = r"(?!)"


@lru_cache(maxsize=64)
def left_out(ignored: tuple[Ignored, ...]) -> re.Pattern[str]:
    """Matches any of these names as a whole."""
    names = [fnmatch.translate(name) for each in ignored for name in each.names]
    return re.compile("|".join(names) if names else _NOTHING)


def why_left_out(ignored: Iterable[Ignored], name: str) -> str | None:
    """The catalogue's reason to leave a name out; None where it does not."""
    return next((each.why for each in ignored if left_out((each,)).match(name)), None)


def ignored_by(systems: Iterable[str]) -> tuple[Ignored, ...]:
    """What any of these systems leaves out."""
    known = (source(name) for name in systems if name in source_names())
    return tuple(each for one in known for each in one.ignored)


def left_out_by(systems: Iterable[str]) -> re.Pattern[str]:
    """What any of these systems leaves out."""
    return left_out(ignored_by(systems))
