"""The record of an object in one line: ``3rd flap in 24 h, moved from leaf1/Ethernet4 … on 2026-11-20``."""

from collections.abc import Sequence
from datetime import UTC, datetime

from analytics.correlate.config import NS_PER_S
from analytics.models.flap_comparison import Verdict
from telemetry.incidents import RecordEvent

DAY_NS = 24 * 3600 * NS_PER_S
WORK = {"move": "moved ", "change": "", "module": "module "}  # what people did to it
COMPARED = "after flap"


def of(events: Sequence[RecordEvent], now_ns: int) -> str:
    """What it has done most often in a day, and which part of it if always the same one, else how many incidents it
    had; what was last done to it, and whether it came back as another one from its last flap.

    >>> flaps = [RecordEvent(hour * 3600 * NS_PER_S, "flap") for hour in (30, 32, 33)]
    >>> of([RecordEvent(3600 * NS_PER_S, "change", "maintenance cable swapped"), *flaps], 33 * 3600 * NS_PER_S)
    '3rd flap in 24 h, maintenance cable swapped on 1970-01-01'
    >>> of([RecordEvent(hour * 3600 * NS_PER_S, "NVLink error", "link 5") for hour in (1, 2)], 3 * 3600 * NS_PER_S)
    '2nd NVLink error of link 5 in 24 h'
    """
    day: dict[str, list[str]] = {}
    incidents = 0
    for event in events:
        if event.what == "incident":
            incidents += 1
        elif event.what not in WORK and event.what != COMPARED and now_ns - event.at_ns <= DAY_NS:
            day.setdefault(event.what, []).append(event.detail)
    parts = []
    if day and max(map(len, day.values())) > 1:
        what = min(day, key=lambda each: (-len(day[each]), each))
        of_part = f" of {day[what][0]}" if day[what][0] and len({*day[what]}) == 1 else ""
        parts.append(f"{_ordinal(len(day[what]))} {what}{of_part} in 24 h")
    elif incidents > 1:
        parts.append(f"{_ordinal(incidents)} incident in 30 days")
    done = [event for event in events if event.what in WORK]
    if done:
        parts.append(f"{WORK[done[-1].what]}{done[-1].detail} on {_date(done[-1].at_ns)}")
    compared = [event for event in events if event.what == COMPARED]
    if compared and compared[-1].detail != Verdict.AS_BEFORE:
        parts.append(f"after the flap on {_date(compared[-1].at_ns)} {compared[-1].detail}")
    return ", ".join(parts)


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _date(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns // NS_PER_S, tz=UTC).strftime("%Y-%m-%d")
