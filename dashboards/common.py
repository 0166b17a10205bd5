"""Panels and variables that every board begins with."""

from dashboards.model import BAD, GOOD, WARN, Panel, Query, Show, Step, Variable
from dashboards.queries import CLUSTER, answering, freshness

CLUSTER_VARIABLE = Variable("cluster", "Cluster", "label_values(up, cluster)")
STALE_S = 60.0  # six collections of 10 s: nothing younger is worth a colour

_FRESHNESS = Panel(
    id=1,
    title="Age of the newest sample (s, now)",
    description="Per kind of target. Normal: below two collection intervals. Above a minute, look at the collectors before "
    "you believe any other panel.",
    show=Show.STAT,
    queries=(Query(freshness(), "{{job}}"),),
    unit="s",
    width=8,
    height=4,
    steps=(Step(None, GOOD), Step(STALE_S / 2, WARN), Step(STALE_S, BAD)),
    decimals=0,
)
_COMPLETENESS = Panel(
    id=2,
    title="Targets that answer (%, now)",
    description="Targets whose last collection worked, of all. Normal: 100 %. Below, the list of silent targets says which.",
    show=Show.STAT,
    queries=(Query(answering(), "answering"),),
    unit="percentunit",
    width=4,
    height=4,
    steps=(Step(None, BAD), Step(0.95, WARN), Step(0.999, GOOD)),
    decimals=1,
)
_OPEN = Panel(
    id=3,
    title="Open incidents (now)",
    description="Incidents that fire. Normal: 0. The NOC wall lists them worst first.",
    show=Show.STAT,
    queries=(Query(f'count(fabricscope_incident{{{CLUSTER},state="firing"}} == 1) or vector(0)', "firing"),),
    unit="none",
    width=4,
    height=4,
    steps=(Step(None, GOOD), Step(1, BAD)),
    decimals=0,
    drill_down=("fabricscope-noc", ()),
)


def first_row() -> tuple[Panel, ...]:
    """Freshness, completeness and open incidents: what to read before anything else."""
    return (_FRESHNESS, _COMPLETENESS, _OPEN)
