"""``docs/tour/README.md``: what was simulated, what happened when, and what people got. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from common.units import NS_PER_S
from tests.acceptance.tour.judge import counted, incidents_of
from tests.acceptance.tour.pictures import ON_A_PHONE, OVERVIEW, evidence_picture, incident_picture
from tests.acceptance.tour.record import STATES, Fault, Notification, Tour, pages_of

_ABOUT = """\
# A tour: three faults at once

Written by `make tour`, which takes a quarter of an hour: the simulator and `fabricscope run` on one machine, real gNMI
and HTTP between them, the embedded bus, and a webhook receiver for the on-call. It ends with exit status 1 unless there
is exactly one incident and one page for each fault, and nothing else.
"""
_NONE = "–"
_WITHOUT_LOAD = """\
What has no load shows nothing: a job that waits for storage sends nothing to a slow receiver, and its warm GPU cools.
So the product took for the end of a fault what was none:
"""
_TEXTS = (
    *("title", "since", "first_symptom", "blast_radius", "gpu_seconds_lost", "confidence"),
    *("evidence_1", "evidence_2", "evidence_3", "verdict", "alternatives", "action", "suppressed", "gaps"),
    *("record", "held_back", "incident_url", "dashboard_url", "runbook_url"),
)
"""Annotations of a page in the order in which people read them; the others say the same once more."""


def page_of(tour: Tour, problems: Sequence[str], pictures: Collection[str]) -> str:
    """The whole page. problems: of the judge. pictures: those that there are; others are left out."""
    parts = [_ABOUT, _verdict(tour, problems), _cluster(tour), _times(tour), _timeline(tour)]
    parts += _picture("The NOC page while all three last", OVERVIEW, pictures)
    for number, fault in enumerate(tour.faults, 1):
        parts.append(_incident(tour, number, fault))
        parts += _picture(f"The incident of {fault.name} on the NOC page", incident_picture(number), pictures)
        parts += _picture(f"The evidence for {fault.name} over time", evidence_picture(number), pictures)
    parts += ["## On a phone\n", *_picture("The NOC page on a phone", ON_A_PHONE, pictures)]
    return "\n".join(parts)


def _verdict(tour: Tour, problems: Sequence[str]) -> str:
    if problems:
        return "**Not as it should be:**\n\n" + "".join(f"- {_line(problem)}\n" for problem in problems)
    count = len(tour.faults)
    return f"**{count} faults, {count} incidents, {count} pages, nothing else.**\n"


def _cluster(tour: Tour) -> str:
    jobs = ", ".join(f"`{name}`" for name in tour.jobs)
    return f"""\
## What was simulated

{tour.hosts} hosts with {8 * tour.hosts} GPUs, {tour.switches} switches and a parallel file system, collected from
every {tour.interval_s:g} s: {tour.targets} targets, {tour.series:,} series. {len(tour.jobs)} jobs train on it: {jobs}.
After five healthy minutes three things break in the same moment. How it is simulated: [simulator](../simulator.md).

The simulation was at most {tour.lag_s_max:.1f} s behind the clock: other work on the machine delays collection, too.
"""


def _times(tour: Tour) -> str:
    """One row a fault; what did not come is a dash."""
    headings = ("fault", "root", "jobs", "began", "detected", "paged", "repaired", "resolved")
    table = _table(headings, [_row(tour, fault) for fault in tour.faults])
    early = "\n".join(line for fault in tour.faults for line in _resolved_early(tour, fault))
    early = f"\n{_WITHOUT_LOAD}\n{early}\n" if early else ""
    before = [one for one in tour.incidents if one not in counted(tour)]
    started = f"\nNot counted, as over before that: {', '.join(map(_words, before))}.\n" if before else ""
    return f"## Faults\n\n{table}\nTimes are UTC. *Detected* and *paged* count from the begin.\n{early}{started}"


def _row(tour: Tour, fault: Fault) -> tuple[str, ...]:
    opened, resolved = (_times_of(tour, fault, what) for what in ("opened", "resolved"))
    pages = _pages_of(tour, fault)
    return (
        f"`{fault.name}`: {fault.words}",
        f"`{fault.root}`",
        ", ".join(fault.jobs),
        _clock(fault.start_ns),
        _after(opened[0], fault) if opened else _NONE,
        _after(pages[0].sent_ns, fault) if pages else _NONE,
        _clock(fault.end_ns),
        _clock(resolved[-1]) if resolved else _NONE,
    )


def _resolved_early(tour: Tour, fault: Fault) -> Iterator[str]:
    """What the product took for the end of a fault and was none."""
    opened = _times_of(tour, fault, "opened")
    for at_ns in _times_of(tour, fault, "resolved"):
        if at_ns < fault.end_ns:
            again = next((later for later in opened if later > at_ns), 0)
            until = f", and showed itself again at {_clock(again)}" if again else ""
            yield f"- `{fault.name}` counted as over at {_clock(at_ns)}, before its repair{until}."


def _words(incident: Mapping[str, Any]) -> str:
    return f"{incident['kind']} at `{incident['root']['name']}`"


def _times_of(tour: Tour, fault: Fault, what: str) -> list[int]:
    mine = {incident["id"] for incident in incidents_of(fault, tour)}
    return [one.at_ns for one in tour.transitions if one.incident in mine and one.what == what]


def _pages_of(tour: Tour, fault: Fault) -> list[Notification]:
    mine = {incident["id"] for incident in incidents_of(fault, tour)}
    return [page for page in pages_of(tour.notifications) if page.incident in mine]


def _timeline(tour: Tour) -> str:
    rows = [(_clock(at_ns), what) for at_ns, what in sorted(_events(tour), key=lambda event: event[0])]
    return f"## Timeline\n\n{_table(('time', 'what'), rows)}"


def _events(tour: Tour) -> Iterator[tuple[int, str]]:
    for fault in tour.faults:
        yield fault.start_ns, f"`{fault.name}` begins at `{fault.root}`"
        yield fault.end_ns, f"`{fault.name}` is repaired"
    words = {one["id"]: _words(one) for one in tour.incidents}
    for change in sorted(tour.transitions, key=lambda one: (one.at_ns, STATES.index(one.what))):
        yield change.at_ns, f"{change.what}: {words[change.incident]}"
    pages = pages_of(tour.notifications)
    for one in tour.notifications:
        action = "paged" if one in pages else "sent that it is over" if one.status == "resolved" else "updated"
        yield one.sent_ns, f"{action}: {one.annotations['title']}"


def _incident(tour: Tour, number: int, fault: Fault) -> str:
    about = f"## {number}: {fault.name}\n\nBroken: `{fault.root}`. {fault.words[0].upper()}{fault.words[1:]}.\n"
    return "\n".join((about, *map(_text, _pages_of(tour, fault))))


def _text(page: Notification) -> str:
    """What the on-call got."""
    rows = [(name.replace("_", " "), page.annotations[name]) for name in _TEXTS if name in page.annotations]
    return (
        f"The page, sent at {_clock(page.sent_ns)} with severity {page.labels['severity']}:\n\n{_table(('', ''), rows)}"
    )


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(_line(cell) for cell in line) + " |\n" for line in lines)


def _line(text: str) -> str:
    """Safe within a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _picture(caption: str, name: str, pictures: Collection[str]) -> list[str]:
    return [f"![{caption}]({name})\n"] if name in pictures else []


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // NS_PER_S, UTC).strftime("%H:%M:%S")


def _after(time_ns: int, fault: Fault) -> str:
    return f"after {(time_ns - fault.start_ns) / NS_PER_S:.0f} s"
