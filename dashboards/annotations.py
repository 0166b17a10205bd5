"""What every board marks in its plots: incidents, changes, drains, restarts, gaps in collection."""

from typing import Any

from dashboards.model import BAD, GOOD, INFO, UNKNOWN, WARN
from dashboards.queries import CLUSTER, OWN, TARGETS

STEP = "15s"
_STARTED_S = 60  # how long after its start a process is marked: longer than a step


def annotations(data_source: dict[str, str]) -> list[dict[str, Any]]:
    """Each is a region from the first step at which its query returns a series to the last."""
    return [
        _annotation(
            data_source,
            "Incidents",
            BAD,
            f'fabricscope_incident{{{CLUSTER},state="firing"}} == 1',
            "{{kind}} at {{root}}",
            "{{severity}} {{incident_id}}",
        ),
        _annotation(
            data_source,
            "Incidents resolved",
            GOOD,
            f'fabricscope_incident{{{CLUSTER},state="resolved"}} == 1',
            "resolved: {{kind}} at {{root}}",
            "{{incident_id}}",
        ),
        _annotation(
            data_source,
            "Changes",
            INFO,
            f"fabricscope_change{{{CLUSTER}}} == 1",
            "{{kind}} of {{object}}",
            "{{author}} {{change_id}}",
        ),
        _annotation(
            data_source,
            "Drains",
            WARN,
            f"fabricscope_node_intent{{{CLUSTER}}} == 1",
            "{{device}} {{intent}}",
            "the scheduler gives it no new job",
        ),
        _annotation(
            data_source,
            "Restarts of Fabricscope",
            "text",
            f"time() - process_start_time_seconds{{{OWN}}} < {_STARTED_S}",
            "{{instance}} started",
            "a stage of Fabricscope; gaps before it may be its own",
        ),
        _annotation(
            data_source,
            "Gaps in collection",
            UNKNOWN,
            f"count by (cluster) (up{{{TARGETS}}} == 0) > 0",
            "targets do not answer",
            "their series have a gap here; the pipeline board names them",
        ),
    ]


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
