"""What a board consists of, in our own types; ``render.py`` turns them into Grafana's JSON."""

from dataclasses import dataclass, field
from enum import StrEnum


class Show(StrEnum):
    """How a panel draws."""

    STAT = "stat"
    LINES = "timeseries"
    TABLE = "table"
    STATES = "state-timeline"


class Level(StrEnum):
    """Of a board: its panels lead one level down, and its links back up."""

    WALL = "wall"
    DOMAIN = "domain"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL expression. legend: with ``{{label}}``. Tables and stats ask for the newest value only."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """From ``value`` on (None: from minus infinity) the panel has this colour."""

    value: float | None
    colour: str


GOOD, WARN, BAD = "#5AA454", "#E0B400", "#C4162A"  # a colour-blind reader distinguishes them too: lightness differs
INFO, UNKNOWN = "#5794F2", "#8E8E8E"
NEUTRAL = (Step(None, "text"),)
States = dict[int | str, tuple[str, str]]
SEVERITIES: States = {"critical": ("■ critical", BAD), "warning": ("▲ warning", WARN), "info": ("● info", INFO)}


@dataclass(frozen=True, slots=True)
class DrillDown:
    """A link to a board. filled: its variables that labels of the series fill; ``queries.LABEL_OF`` has the labels.

    board: the uid, or with ``by_column`` the column of a table that holds it.
    """

    board: str
    filled: tuple[str, ...] = ()
    by_column: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    id:          fixed for ever: alert links point at it.
    title:       with unit and window. description: what it is, what is normal, what to do.
    unit:        Grafana's id of the unit of the *drawn* value.
    steps:       colours by value, from the hardware's own limits; limit: a query drawn as a dashed line.
    states:      texts of the values of a state: value -> (text, colour).
    drill_down:  the board one level below.
    columns:     tables: label or ``Value`` -> heading, in order; other labels are hidden.
    texts:       tables: column -> texts of its values, as ``states``.
    sort_by:     tables: a label that is not shown, whose values order the rows; '' leaves the query's order.
    colours:     lines: legend -> colour, where a line has a meaning of its own.
    """

    id: int
    title: str
    description: str
    show: Show
    queries: tuple[Query, ...]
    unit: str
    width: int = 12
    height: int = 8
    steps: tuple[Step, ...] = NEUTRAL
    limit: Query | None = None
    states: States = field(default_factory=dict)
    drill_down: DrillDown | None = None
    columns: dict[str, str] = field(default_factory=dict)
    texts: dict[str, States] = field(default_factory=dict)
    sort_by: str = ""
    colours: dict[str, str] = field(default_factory=dict)
    decimals: int | None = None
    maximum: float | None = None
    with_name: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A drop-down filled by a query. All is its default, unless it is ``single``: then the first value is.

    pattern: a regular expression with groups ``text`` and ``value``, for a query whose results are more than values.
    """

    name: str
    label: str
    query: str
    single: bool = False
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard. uid: fixed for ever. panels: placed row by row in 24 columns, in order.

    tags: domains, as alerts have them in their label.
    """

    uid: str
    title: str
    description: str
    level: Level
    tags: tuple[str, ...]
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]
    refresh: str = "10s"
    since: str = "now-1h"
