"""What every board marks in its plots: incidents, changes, drains, restarts, gaps in collection.

Beginnings and ends are marked, not what lies between: a dozen incidents at once would cover every line.
"""

from typing import Any

from dashboards.model import BAD, GOOD, INFO, UNKNOWN, WARN
from dashboards.queries import CLUSTER, OWN, TARGETS

STEP = "15s"
_STARTED_S = 15  # one step after its start
_FIRING = f'fabricscope_incident{{{CLUSTER},state="firing"}}'
_CHANGE = f"fabricscope_change{{{CLUSTER}}}"
_INTENT = f"fabricscope_node_intent{{{CLUSTER}}}"
_SILENT = f"up{{{TARGETS}}}"


def began(series: str) -> str:
    """Series that were not there a step before."""
    return f"{series} unless {series} offset {STEP}"


def ended(series: str) -> str:
    """Series that are not there any more since a step."""
    return f"{series} offset {STEP} unless {series}"


def annotations(data_source: dict[str, str]) -> list[dict[str, Any]]:
    """Each marks the steps at which its query returns a series."""
    marks = (
        ("Incidents", BAD, began(_FIRING), "{{kind}} at {{where}}", "{{severity}} {{incident_id}}"),
        ("Ends of incidents", GOOD, ended(_FIRING), "over: {{kind}} at {{where}}", "{{incident_id}}"),
        ("Changes", INFO, began(_CHANGE), "{{kind}} of {{object}}", "{{author}} {{change_id}}"),
        ("Ends of changes", INFO, ended(_CHANGE), "over: {{kind}} of {{object}}", "{{author}} {{change_id}}"),
        ("Drains", WARN, began(_INTENT), "{{device}} {{intent}}", "the scheduler gives it no new job"),
        (
            "Restarts of Fabricscope",
            "text",
            f"time() - process_start_time_seconds{{{OWN}}} < {_STARTED_S}",
            "{{instance}} started",
            "a stage of Fabricscope; a gap before it may be its own",
        ),
        (
            "Gaps in collection",
            UNKNOWN,
            f"count by (cluster) ({_SILENT} == 0 unless {_SILENT} offset {STEP} == 0)",
            "targets stopped to answer",
            "their series end here; the pipeline board names them",
        ),
    )
    return [_annotation(data_source, *mark) for mark in marks]


def _annotation(
    data_source: dict[str, str], name: str, colour: str, expr: str, title: str, text: str
) -> dict[str, Any]:
    return {
        "name": name,
        "datasource": data_source,
        "enable": True,
        "iconColor": colour,
        "expr": expr,
        "titleFormat": title,
        "textFormat": text,
        "step": STEP,
    }
