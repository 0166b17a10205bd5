"""From what ``perfquery`` prints, for one port or for many, to its counters. Pure."""

import re
from typing import NamedTuple

from common.errors import BadInput

_PORT = re.compile(r"#.*\bLid (\d{1,8}) port (\d{1,8})\b.*")
_COUNTER = re.compile(r"(\w{1,64}):\.*([0-9]{1,30})\s*")
_SETTING = re.compile(r"\w{1,64}:\.*[^.\s].*")


class Reading(NamedTuple):
    """One counter of the port of a local identifier."""

    lid: int
    port: int
    name: str
    value: float


def parse_counters(text: bytes) -> tuple[list[Reading], int]:
    """The counters, and how many lines are none. BadInput where no line is one: perfquery titles each port with its
    local identifier, which stands in no counter."""
    found: list[Reading] = []
    malformed = 0
    port: tuple[int, int] | None = None
    for line in filter(str.strip, text.decode(errors="replace").splitlines()):
        if line.startswith("#"):
            title = _PORT.fullmatch(line)
            port = None if title is None else (int(title[1]), int(title[2]))
            malformed += title is None
            continue
        counter = _COUNTER.fullmatch(line)
        if counter is not None and port is not None:
            found.append(Reading(*port, counter[1], float(counter[2])))
        elif port is None or _SETTING.fullmatch(line) is None:  # CounterSelect:...0x0000
            malformed += 1
    if not found:
        raise BadInput(f"expected counters as of perfquery, found {text[:80]!r}", "bad_format")
    return found, malformed
