"""Entries of logs (DMTF LogEntry, DSP0268), as vendors send them. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.redfish.parse import ROOT, Document, link

_TEXT_CHARS_MAX = 200
_CLOCK_SET_S = 978_307_200  # 2001: what is dated before that comes from a clock that was not set
_RANKS = {"ok": 0, "informational": 0, "warning": 1}
_WORST = 2


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Texts are '' where the entry has none, and short. at_ns: event time by the controller's clock, 0 where unknown.

    severity: in small letters. sensor: its type and number. event: what it did, as SEL calls it (``Assert``).
    part: path of the resource that the entry is about, below the root.
    """

    id: str
    at_ns: int
    severity: str
    message: str
    message_id: str
    sensor: str
    event: str
    part: str


def rank_of(severity: str) -> int:
    """How bad it is: 0 is no news, 2 critical. An unknown word, or none, may be the worst."""
    return _RANKS.get(severity, _WORST)


def parse_entry(document: Document) -> LogEntry:
    """BadInput for one that says nothing."""
    message = _text(document.get("Message")) or _arguments(document.get("MessageArgs"))
    entry = LogEntry(
        id=_text(document.get("Id")),
        at_ns=time_ns(document.get("EventTimestamp")) or time_ns(document.get("Created")),
        severity=_text(document.get("Severity")).lower(),
        message=message,
        message_id=_text(document.get("MessageId")),
        sensor=_sensor(document),
        event=_text(document.get("EntryCode")),
        part=_part(document.get("Links")),
    )
    if not (entry.message or entry.message_id or entry.sensor):
        raise BadInput(f"log entry {entry.id!r}: no Message, MessageId or SensorType", "bad_format")
    return entry


def time_ns(value: object) -> int:
    """Of an ISO 8601 time with its offset. 0 for anything else, as ``+34:07``, and for one of a clock that was not set.

    >>> time_ns("2018-12-19T04:28:32-06:00") == time_ns("2018-12-19T10:28:32Z") == 1_545_215_312 * NS_PER_S
    True
    >>> [time_ns(text) for text in ("2017-05-05T17:38:25+34:07", "2018-12-19T04:28:32", "1970-01-01T00:02:11Z", None)]
    [0, 0, 0, 0]
    """
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        seconds = at.timestamp() if at is not None and at.tzinfo is not None else 0.0
    except (ValueError, OverflowError):  # the first or last day of the calendar, with an offset
        return 0
    return round(seconds * 1000) * (NS_PER_S // 1000) if seconds >= _CLOCK_SET_S else 0


def _sensor(document: Document) -> str:
    """As ``Temperature 2``: two sensors of one type are two."""
    number = document.get("SensorNumber")
    kind = _text(document.get("SensorType"))
    return f"{kind} {number}" if kind and type(number) is int and 0 <= number < 10**6 else kind


def _part(links: Any) -> str:
    origin = link(links, "OriginOfCondition") if isinstance(links, dict) else ""
    return origin.removeprefix(f"{ROOT}/").rstrip("/")[:_TEXT_CHARS_MAX]


def _arguments(value: object) -> str:
    return _text(", ".join(one for one in value if isinstance(one, str))) if isinstance(value, list) else ""


def _text(value: object) -> str:
    """On one line, of what can be printed. iDRAC 7 and 8 put words into ``[{"Member": word}]``."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0].get("Member")
    if not isinstance(value, str):
        return ""
    words = " ".join(value[: 4 * _TEXT_CHARS_MAX].split())
    return "".join(filter(str.isprintable, words))[:_TEXT_CHARS_MAX].strip()
