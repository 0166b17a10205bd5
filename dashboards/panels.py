"""Panels by how they draw, and the colours of their values."""

from typing import TypedDict, Unpack

from dashboards.model import BAD, GOOD, WARN, Panel, Query, Show, Step

DrillDown = tuple[str, tuple[str, ...]]


class Look(TypedDict, total=False):
    """What most panels leave at its default; see ``Panel``."""

    width: int
    height: int
    steps: tuple[Step, ...]
    limit: Query
    states: dict[int, tuple[str, str]]
    drill_down: DrillDown
    columns: dict[str, str]
    decimals: int
    maximum: float


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


def rising(*, warn: float | None = None, bad: float) -> tuple[Step, ...]:
    """Good below ``warn``, bad from ``bad`` on."""
    middle = () if warn is None else (Step(warn, WARN),)
    return (Step(None, GOOD), *middle, Step(bad, BAD))
