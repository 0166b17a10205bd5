"""Panels by how they draw, and the colours of their values.

A panel of one metric (``highest``, ``lowest_of``, ``every``) takes its unit and help from the catalogue.
"""

from collections.abc import Callable
from typing import TypedDict, Unpack

from dashboards.model import BAD, GOOD, WARN, DrillDown, Panel, Query, Show, States, Step
from dashboards.queries import LINES_MAX, WINDOW, lowest, selected, worst
from dashboards.scopes import Scope
from dashboards.units import unit_of
from telemetry.catalogue import Kind, metrics


class Look(TypedDict, total=False):
    """What most panels leave at its default; see ``Panel``."""

    width: int
    height: int
    steps: tuple[Step, ...]
    limit: Query
    states: States
    drill_down: DrillDown
    columns: dict[str, str]
    texts: dict[str, States]
    sort_by: str
    colours: dict[str, str]
    decimals: int
    maximum: float
    with_name: bool


def lines(number: int, title: str, unit: str, description: str, *queries: Query, **look: Unpack[Look]) -> Panel:
    """Values over time. number: the panel's id."""
    return Panel(number, title, description, Show.LINES, queries, unit, **look)


def stat(number: int, title: str, unit: str, description: str, query: Query, **look: Unpack[Look]) -> Panel:
    """One large number per series, now."""
    return Panel(number, title, description, Show.STAT, (query,), unit, **look)


def table(number: int, title: str, unit: str, description: str, expr: str, **look: Unpack[Look]) -> Panel:
    """One row per series, now."""
    return Panel(number, title, description, Show.TABLE, (Query(expr),), unit, **look)


def states(number: int, title: str, description: str, query: Query, **look: Unpack[Look]) -> Panel:
    """States over time."""
    return Panel(number, title, description, Show.STATES, (query,), "none", **look)


class Of(TypedDict, total=False):
    """Which series of a metric: see ``metric_of``."""

    by: tuple[str, ...]
    how: str
    only: dict[str, str]


class MetricLook(Look, Of, total=False):
    """Both."""


def metric_of(scope: Scope, metric: str, **of: Unpack[Of]) -> str:
    """A metric for each object of a scope: a counter's rate, else its value.

    by: further labels that lines are of. how: max, sum, …; else counters are summed, and of others the largest counts.
    only: values of labels, as ``queries.selected`` has them.
    """
    series = f"{metric}{{{selected(scope.labels, **of.get('only', {}))}}}"
    grouping = ", ".join((scope.grouping, *of.get("by", ())))
    if metrics()[metric].kind is Kind.COUNTER:
        return f"{of.get('how', 'sum')} by ({grouping}) (rate({series}[{WINDOW}]))"
    return f"{of.get('how', 'max')} by ({grouping}) ({series})"


def highest(number: int, name: str, scope: Scope, metric: str, note: str, **look: Unpack[MetricLook]) -> Panel:
    """The ten objects of a scope with the highest values of a metric of the catalogue. note: what is normal."""
    return _of_metric(number, f"{LINES_MAX} highest {scope.noun}", worst, name, scope, metric, note, look)


def lowest_of(number: int, name: str, scope: Scope, metric: str, note: str, **look: Unpack[MetricLook]) -> Panel:
    """The ten objects of a scope with the lowest values of a metric of the catalogue."""
    look = {"how": "min", **look}
    return _of_metric(number, f"{LINES_MAX} lowest {scope.noun}", lowest, name, scope, metric, note, look)


def every(number: int, name: str, scope: Scope, metric: str, note: str, **look: Unpack[MetricLook]) -> Panel:
    """All objects of a scope: for boards of one object."""
    return _of_metric(number, "over time", str, name, scope, metric, note, look)


def _of_metric(
    number: int,
    window: str,
    choose: Callable[[str], str],
    name: str,
    scope: Scope,
    metric: str,
    note: str,
    look: MetricLook,
) -> Panel:
    of: Of = {key: look.pop(key) for key in ("by", "how", "only") if key in look}  # type: ignore[assignment]
    unit = unit_of(metric)
    expr = scope.named(choose(metric_of(scope, metric, **of)))
    parts = (scope.legend, *(f"{{{{{label}}}}}" for label in of.get("by", ())))
    legend = " ".join(filter(None, parts)) or _inside_a_sentence(name)
    rest: Look = {"drill_down": scope.opens, **look}  # type: ignore[typeddict-unknown-key]
    title, description = f"{name} ({unit.text}, {window})", f"{metrics()[metric].help} {note}"
    return lines(number, title, unit.id, description, Query(expr, legend), **rest)


def _inside_a_sentence(name: str) -> str:
    """With a small first letter, unless it is an abbreviation: PCIe, FEC."""
    return name if name[:2].isupper() else name[0].lower() + name[1:]


def constant(value: float, legend: str) -> Query:
    """A limit as a line. Its number comes from ``telemetry.limits`` or from a standard."""
    return Query(f"vector({value:g})", legend)


def rising(*, warn: float | None = None, bad: float) -> tuple[Step, ...]:
    """Good below ``warn``, bad from ``bad`` on."""
    middle = () if warn is None else (Step(warn, WARN),)
    return (Step(None, GOOD), *middle, Step(bad, BAD))


def falling(*, bad: float, warn: float) -> tuple[Step, ...]:
    """Bad below ``bad``, good from ``warn`` on."""
    return (Step(None, BAD), Step(bad, WARN), Step(warn, GOOD))
