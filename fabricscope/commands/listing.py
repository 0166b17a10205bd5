"""What an API answered, as tables for people or JSON for programs. What others say in it is text, not commands."""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from typing import TypeVar

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from common.printing import escape_controls, printable
from fabricscope.api import views
from fabricscope.api.views.view import View
from fabricscope.terminal import COLOURS, LOST_MIN_S, answered_panel
from telemetry.incidents import IncidentState

_WIDTH = 200  # where nobody has a terminal to measure
_OBJECTS_MAX = 4  # of a change in a table: the start of a job names each of its nodes
_WHOLE = frozenset({"severity", "state", "up", "kind"})
"""Columns that stay on one line however narrow the terminal is."""
_LEAST = {"objects": 12, "author": 6, **dict.fromkeys(("since, UTC", "starts, UTC", "ends, UTC", "collected, UTC"), 10)}
"""Characters of others: a date stays whole, and so do usual names."""
_TARGETS = ("target", "device", "up", "collected, UTC", "took", "series", "not mapped", "left out")
_COUNTS = ("received", "delivered", "held", "dropped", "missing")
_READ = ("series", "not mapped", "left out")
_SEVERITY = re.compile(r"^\[(CRIT|WARN|INFO)\] ")
V = TypeVar("V", bound=View)


def print_incidents(found: Iterable[views.Incident], limit: int, *, as_json: bool) -> None:
    shown, more = _first(found, limit)
    if as_json:
        _print_json([one.model_dump(mode="json") for one in shown])
        return
    table = _table("incidents", ("severity", "state", "since, UTC", "title", "GPU-hours lost", "id"), shown, more)
    for one in shown:
        colour = "green" if one.state is IncidentState.RESOLVED else COLOURS[one.severity]
        lost = f"{one.gpu_seconds / 3600:.2f}" if one.gpu_seconds >= LOST_MIN_S else ""
        title = _SEVERITY.sub("", one.title)  # it stands beside it
        severity, *cells = (_text(cell) for cell in (one.severity, one.state, _time(one.onset), title, lost, one.id))
        severity.stylize(colour)
        table.add_row(severity, *cells)
    _console().print(table)


def print_incident(incident: views.Incident, members: Sequence[views.Member], *, as_json: bool) -> None:
    """members: all of them, or none to leave them out."""
    if as_json:
        whole = incident.model_dump(mode="json")
        _print_json(whole | {"members": [each.model_dump() for each in members]} if members else whole)
        return
    console = _console()
    console.print(answered_panel(incident))
    for kind, of_kind in groupby(members, key=lambda member: member.kind):
        names = [member.name for member in of_kind]
        console.print(_text(f"{kind} ({len(names)})"), style="bold")
        for name in names:
            console.print(_text(f"  {name}"), soft_wrap=True)


def print_targets(found: Iterable[views.Target], limit: int, *, as_json: bool) -> None:
    shown, more = _first(found, limit)
    if as_json:
        _print_json([one.model_dump(mode="json") for one in shown])
        return
    table = _table("targets", _TARGETS, shown, more)
    for one in shown:
        up = _text("yes" if one.up else f"no: {one.reason}")
        up.stylize("green" if one.up else "red")
        cells = (
            _time(one.collected),
            f"{one.duration_s:.3f} s",
            f"{one.series:,}",
            f"{one.unmapped:,}",
            f"{one.left_out:,}",
        )
        table.add_row(_text(one.target), _text(one.device), up, *map(_text, cells))
    _console().print(table)


def print_ledger(stages: Sequence[views.StageReport], jobs: Sequence[views.JobAccount], *, as_json: bool) -> None:
    """What became of the samples of each process, and of each job's targets."""
    if as_json:
        found = {"stages": stages, "jobs": jobs}
        _print_json({name: [one.model_dump(mode="json") for one in of_it] for name, of_it in found.items()})
        return
    table = _table("stages", ("stage", "received", "delivered", "twice", "held", "dropped", "missing"), stages, False)
    for stage in stages:
        table.add_row(
            _text(f"{stage.stage} {stage.instance}"),
            *_numbers(stage.samples_in, stage.samples_out, stage.deduplicated, stage.held),
            _reasons(stage.dropped),
            _missing(stage.balance),
        )
    of_jobs = _table("jobs", ("job", "targets", *_COUNTS, *_READ), jobs, False)
    for job in jobs:
        of_jobs.add_row(_text(job.job), *_numbers(job.targets), *_counts(job))
    console = _console()
    console.print(table)
    console.print(of_jobs)


def print_accounts(found: Iterable[views.TargetAccount], limit: int, *, as_json: bool) -> None:
    shown, more = _first(found, limit)
    if as_json:
        _print_json([one.model_dump(mode="json") for one in shown])
        return
    table = _table("targets", ("target", "device", *_COUNTS, *_READ), shown, more)
    for one in shown:
        table.add_row(_text(one.target), _text(one.device), *_counts(one))
    _console().print(table)


def _counts(one: views.SampleCounts) -> list[Text]:
    return [
        *_numbers(one.received, one.delivered, one.held),
        _reasons(one.dropped),
        _missing(one.balance),
        *_numbers(one.series, one.unmapped, one.left_out),
    ]


def _numbers(*counts: int) -> list[Text]:
    return [Text(f"{count:,}") for count in counts]


def _reasons(dropped: Mapping[str, int]) -> Text:
    """A line for each reason, the one with most samples first."""
    by_count = sorted(dropped.items(), key=lambda pair: (-pair[1], pair[0]))
    return Text("\n").join(_text(f"{reason} {count:,}") for reason, count in by_count) if by_count else Text("0")


def _missing(balance: int) -> Text:
    return Text(f"{balance:,}", style="red" if balance else "green")


def print_changes(found: Iterable[views.Change], limit: int, *, as_json: bool) -> None:
    shown, more = _first(found, limit)
    if as_json:
        _print_json([one.model_dump(mode="json") for one in shown])
        return
    table = _table("changes", ("starts, UTC", "ends, UTC", "kind", "objects", "summary", "author"), shown, more)
    for one in shown:
        objects = [_text(each) for each in one.objects[:_OBJECTS_MAX]]
        if len(one.objects) > _OBJECTS_MAX:
            objects.append(_text(f"and {len(one.objects) - _OBJECTS_MAX} more"))
        times = (_time(one.starts), _time(one.ends) if one.ends else "", one.kind)
        table.add_row(*map(_text, times), Text("\n").join(objects), _text(one.summary), _text(one.author))
    _console().print(table)


def print_events(found: Iterable[views.Event], limit: int, *, as_json: bool) -> None:
    shown, more = _first(found, limit)
    if as_json:
        _print_json([one.model_dump(mode="json") for one in shown])
        return
    headings = ("began, UTC", "lasted", "kind", "object", "priority", "direction", "count", "amount", "detail")
    table = _table("events", headings, shown, more)
    for one in shown:
        labels = (one.kind, one.where or one.object, one.priority or one.queue, one.direction)
        amount = f"{one.amount:,.6g} {one.unit}" if one.unit else ""
        cells = (_began(one), _lasted(one), *labels, f"{one.count:,}", amount, one.detail)
        table.add_row(*map(_text, cells))
    _console().print(table)


def _began(event: views.Event) -> str:
    exact = event.began_after == event.began_by
    return _time(event.began_by) if exact else f"by {_time(event.began_by)}"


def _lasted(event: views.Event) -> str:
    if event.at_least_s is None or event.at_most_s is None:
        return "is open"
    if event.at_least_s == event.at_most_s:
        return f"{event.at_most_s:.6g} s"
    return f"{event.at_least_s:.6g} to {event.at_most_s:.6g} s"


def _first(found: Iterable[V], limit: int) -> tuple[list[V], bool]:
    """At most ``limit`` of them, and whether there are more."""
    shown = list(islice(found, limit + 1))
    return shown[:limit], len(shown) > limit


def _table(noun: str, headings: Sequence[str], shown: Sequence[View], more: bool) -> Table:
    caption = f"There are more {noun}: --limit" if more else None if shown else f"No {noun}."
    table = Table(caption=caption, caption_justify="left", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in _WHOLE, min_width=_LEAST.get(heading))
    return table


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH)


def _print_json(document: object) -> None:
    """The same values: JSON itself leaves C1 and direction characters as they are, and has escapes for them."""
    print(escape_controls(orjson.dumps(document).decode()))


def _text(cell: str) -> Text:
    return Text(printable(cell))


def _time(instant: str) -> str:
    """Of people: to the second, in UTC.

    >>> _time("2026-01-31T22:00:00.000000001Z")
    '2026-01-31 22:00:00'
    """
    return instant[:19].replace("T", " ")
