"""Panels and variables that every board begins with."""

from dashboards.model import BAD, GOOD, WARN, Panel, Query, Step, Variable
from dashboards.panels import rising, stat
from dashboards.queries import CLUSTER, freshness, targets_up

CLUSTER_VARIABLE = Variable("cluster", "Cluster", "label_values(up, cluster)")
STALE_S = 60.0  # six collections of 10 s: nothing younger is worth a colour

_FRESHNESS = stat(
    1,
    "Age of the newest sample (s, now)",
    "s",
    "Per kind of target. Normal: below two collection intervals. Above a minute, look at the collectors before "
    "you believe any other panel.",
    Query(freshness(), "{{job}}"),
    width=8,
    height=4,
    steps=rising(warn=STALE_S / 2, bad=STALE_S),
    decimals=0,
)
_COMPLETENESS = stat(
    2,
    "Targets up (%, now)",
    "percentunit",
    "Targets whose last collection worked, of all. Normal: 100 %. Below, the list of silent targets says which.",
    Query(targets_up(), "up"),
    width=4,
    height=4,
    steps=(Step(None, BAD), Step(0.95, WARN), Step(0.999, GOOD)),
    decimals=1,
)
_OPEN = stat(
    3,
    "Open incidents (now)",
    "none",
    "Incidents that fire. Normal: 0. The NOC wall lists them worst first.",
    Query(f'count(fabricscope_incident{{{CLUSTER},state="firing"}} == 1) or vector(0)', "firing"),
    width=4,
    height=4,
    steps=rising(bad=1),
    decimals=0,
    drill_down=("fabricscope-noc", ()),
)


def first_row() -> tuple[Panel, ...]:
    """Freshness, completeness and open incidents: what to read before anything else."""
    return (_FRESHNESS, _COMPLETENESS, _OPEN)
