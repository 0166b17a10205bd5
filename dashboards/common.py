"""Panels and variables that every board begins with."""

from dataclasses import replace

from dashboards.model import BAD, DrillDown, Panel, Query, States, Variable
from dashboards.panels import falling, rising, stat, table
from dashboards.queries import CLUSTER, LINES_MAX, TARGETS, age_of_targets, targets_up, with_data
from telemetry.boards import BOARD_OF
from telemetry.kinds import Domain, incident_kinds

_IN_RACKS = CLUSTER + ',pod=~"$pod",rack=~"$rack"'
WALL = "fabricscope-noc"
RANKS = {"critical": 3, "warning": 2, "info": 1}
_NO_DATA: States = {-1: ("■ no data", BAD)}
STALE_S = 60.0  # six collections of 10 s; below half of that nothing is worth a colour

CLUSTER_VARIABLES = (
    Variable("cluster", "Cluster", 'label_values(up{target!=""}, cluster)'),
    Variable("replay", "Replay", 'label_values(up{cluster=~"$cluster"}, replay)'),
)
PLACE_VARIABLES = (
    *CLUSTER_VARIABLES,
    Variable("pod", "Pod", f"label_values(up{{{TARGETS}}}, pod)"),
    Variable("rack", "Rack", f'label_values(up{{{TARGETS},pod=~"$pod"}}, rack)'),
)
JOB_VARIABLE = Variable("job", "Job", f"label_values(fabricscope_job_node{{{CLUSTER}}}, job_id)")

_FRESHNESS = stat(
    1,
    "Age of the newest sample (s, oldest kind of target, now)",
    "s",
    "The kind of target whose newest sample is the oldest. Normal: below two collection intervals. Above a minute, "
    "look at the collectors before you believe any other panel.",
    Query(f'topk(1, {age_of_targets()} or label_replace(vector(-1), "source", "no target", "", ""))', "{{source}}"),
    width=6,
    height=6,
    steps=rising(warn=STALE_S / 2, bad=STALE_S),
    states=_NO_DATA,
    decimals=0,
    with_name=True,
)
_COMPLETENESS = stat(
    2,
    "Targets up (%, now)",
    "percentunit",
    "Targets whose last collection worked, of all. Normal: 100 %. The pipeline board names the silent ones.",
    Query(f"{targets_up()} or vector(-1)", "up"),
    width=4,
    height=6,
    states=_NO_DATA,
    steps=falling(bad=0.95, warn=0.999),
    decimals=1,
)


def device_variable(metric: str, label: str, *, single: bool = False) -> Variable:
    """Devices that have the metric, in the chosen pods and racks."""
    return Variable("device", label, f"label_values({metric}{{{_IN_RACKS}}}, device)", single)


ROOT_ON_DEVICE = (
    ',root=~"(.*[:-])?($device)([/-].*)?"'  # port:leaf1/…, link:leaf1/…--spine2/…, device:node1, gpu:node1/…
)


def incidents_of(*domains: Domain, root: str = "") -> str:
    """Series of incidents that fire, of some domains; without any, of all. root: a matcher of the label."""
    kinds = [kind for kind, meaning in incident_kinds().items() if not domains or meaning.domain in domains]
    return f'fabricscope_incident{{{CLUSTER},state="firing",kind=~"{"|".join(sorted(kinds))}"{root}}}'


def by_severity(series: str) -> str:
    """Incidents with their severity as a number: 3 is critical. series: ends with its matchers."""
    matched = series.removesuffix("}")
    return " or ".join(f'{rank} * {matched},severity="{severity}"}}' for severity, rank in RANKS.items())


def costliest(own: str) -> Panel:
    """The list of incidents that fire. One that is critical is on it, whatever others cost."""
    matched = f'fabricscope_incident_gpu_seconds_total{{{CLUSTER},state="firing"'
    weighed = " or ".join(f'{rank}e12 + {matched},severity="{severity}"}}' for severity, rank in RANKS.items())
    expr = f"{matched}}} and topk({LINES_MAX}, {weighed})"
    for severity, rank in RANKS.items():
        expr = f'label_replace({expr}, "order", "{max(RANKS.values()) - rank}", "severity", "{severity}")'
    return table(
        10,
        f"Incidents that fire (GPU time lost, {LINES_MAX} worst, now)",
        "s",
        "One line a cause, most severe first, then by cost. Normal: empty. The link opens the board of its domain; the "
        "NOC page, by the incident's id, has evidence and action.",
        f"sort_desc({boards_of_incidents(expr, own)})",
        columns={
            "severity": "Severity",
            "kind": "What",
            "where": "Where",
            "Value": "GPU time lost",
            "incident_id": "Incident",
            "board": "Board",
        },
        sort_by="order",
        drill_down=DrillDown("board", by_column=True),
    )


def boards_of_incidents(expr: str, own: str) -> str:
    """The label ``board``: the uid of the board of each incident's domain; for that of ``own`` the wall."""
    for domain, board in BOARD_OF.items():
        uid = WALL if board == own else board
        kinds = "|".join(sorted(kind for kind, meaning in incident_kinds().items() if meaning.domain is domain))
        if kinds:
            expr = f'label_replace({expr}, "board", "{uid}", "kind", "{kinds}")'
    return expr


def first_row(own: str, *domains: Domain, of_device: bool = False) -> tuple[Panel, ...]:
    """Freshness, completeness and open incidents of the board's domains: what to read before anything else.

    own: uid of the board; what would lead to it leads to the wall. of_device: only incidents of the chosen device.
    """
    collectors, incidents = (WALL if own == uid else uid for uid in ("fabricscope-pipeline", "fabricscope-incidents"))
    health = (replace(panel, drill_down=DrillDown(collectors)) for panel in (_FRESHNESS, _COMPLETENESS))
    about = " and ".join(sorted(domains)) or "all domains"
    if of_device:
        series, about = incidents_of(root=ROOT_ON_DEVICE), "of this device"
    else:
        series = incidents_of(*domains)
    return (*health, *_open_incidents(series, about, DrillDown(incidents)))


def _open_incidents(series: str, about: str, opens: DrillDown) -> tuple[Panel, ...]:
    return (
        stat(
            3,
            "Open incidents (now)",
            "none",
            f"Incidents that fire: {about}. Normal: 0. The list beside it names them.",
            Query(with_data(f"count({series} == 1) or vector(0)"), "firing"),
            width=4,
            height=6,
            states=_NO_DATA,
            steps=rising(bad=1),
            decimals=0,
            drill_down=opens,
        ),
        table(
            4,
            f"What is open ({about}, {LINES_MAX} at most, now)",
            "none",
            "What broke, and where, most severe first. Normal: empty. The link opens all incidents with what they cost.",
            f"topk({LINES_MAX}, ({by_severity(series)}) > 0)",
            width=10,
            height=6,
            columns={"severity": "Severity", "kind": "What", "where": "Where"},
            drill_down=opens,
        ),
    )
