"""The words of a notification, made safe for whatever shows them in the end, and cut by rule.

Object names come from devices and job owners, so nothing in them may act: no control or direction-changing
characters, no markup brackets (chat commands such as ``<!channel>``, HTML), one line each.
"""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from common.units import NS_PER_S, NS_PER_US, US_PER_S
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Incident
from telemetry.kinds import in_words
from telemetry.quantities import quantity

TITLE_CHARS_MAX = 140
LABEL_CHARS_MAX = 255
TEXT_CHARS_MAX = 1024
EVIDENCE_LINES = 3
NAMES_SHOWN_MAX = 5
REJECTED_SHOWN = 2
_LOOKALIKES = {"<": "‹", ">": "›"}
_READ_CHARS_MAX = 16 * TEXT_CHARS_MAX


def clean(text: str, chars_max: int) -> str:
    """One harmless line of at most ``chars_max`` characters.

    >>> clean("leaf1\\n<!channel> \\x1b[31m", 40)
    'leaf1 ‹!channel› [31m'
    """
    # cut first: what nobody will read is not worth the walk through 5 MB
    line = " ".join("".join(map(_harmless, text[:_READ_CHARS_MAX])).split())
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"


def _harmless(character: str) -> str:
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cf", "Cs", "Co", "Cn") else character


def title(incident: Incident) -> str:
    """The incident's headline, safe to show and cut to the length that all receivers accept; its kind without one."""
    return clean(incident.title, TITLE_CHARS_MAX) or incident.kind


def since(incident: Incident) -> str:
    """When it began, as people read it: ``2026-11-21 08:30:00 UTC``."""
    return datetime.fromtimestamp(incident.onset_ns // NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def timestamp(time_ns: int) -> str:
    """RFC 3339 in UTC with microseconds, for machines."""
    seconds, micros = divmod(time_ns // NS_PER_US, US_PER_S)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros).isoformat(timespec="microseconds")


def blast_radius(blast: BlastRadius) -> str:
    """
    >>> blast_radius(BlastRadius(nodes=("node1", "node2"), jobs=("4711",)))
    '2 nodes, 1 job (4711)'
    """
    parts = [
        counted(len(names), noun)
        for names, noun in ((blast.links, "link"), (blast.nodes, "node"), (blast.gpus, "GPU"))
        if names
    ]
    if blast.jobs:
        parts.append(f"{counted(len(blast.jobs), 'job')} ({names_shown(blast.jobs)})")
    return clean(", ".join(parts) or "nothing else so far", TEXT_CHARS_MAX)


def evidence_line(evidence: Evidence) -> str:
    """One value against its normal."""
    unit = evidence.unit
    normal = "no normal learned yet" if evidence.normal is None else f"normal {quantity(evidence.normal, unit)}"
    return clean(f"{evidence.series}: {quantity(evidence.value, unit)} ({normal})", TEXT_CHARS_MAX)


def alternatives(incident: Incident) -> str:
    """The next best causes, best first."""
    shown = incident.alternatives[:EVIDENCE_LINES]
    texts = [f"{in_words(each.kind)} at {each.root.name} ({each.confidence:.0%}: {each.reason})" for each in shown]
    return clean("; ".join(texts) or "none", TEXT_CHARS_MAX)


def verdict(incident: Incident) -> str:
    """Why this cause and not the next ones, and what would make it surer; empty where the incident does not say."""
    parts = [f"because {each}" for each in incident.because[:1]]
    parts += [*incident.against[:REJECTED_SHOWN], *(f"not known: {each}" for each in incident.missing[:1])]
    return clean("; ".join(parts), TEXT_CHARS_MAX)


def record(incident: Incident) -> str:
    """How often an intermittent fault has come, and the record of its root; empty where there is neither."""
    times = f"this incident has come {incident.occurrences} times" if incident.occurrences > 1 else ""
    return "; ".join(filter(None, (times, incident.record.line if incident.record else "")))


def names_shown(names: Sequence[str]) -> str:
    """The first few names and how many more there are."""
    more = len(names) - NAMES_SHOWN_MAX
    return ", ".join(names[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """``1 link``, ``2 links``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
