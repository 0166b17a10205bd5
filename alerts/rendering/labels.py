"""The labels of an incident's alert: what routes, silences and receivers match on."""

from alerts.rendering.text import LABEL_CHARS_MAX, clean
from telemetry.incidents import Incident, IncidentKind

_DOMAIN = {
    IncidentKind.SLOW_RECEIVER: "fabric",
    IncidentKind.INCAST: "fabric",
    IncidentKind.PAUSE_LOOP: "fabric",
    IncidentKind.LINK_DOWN: "fabric",
    IncidentKind.LINK_FLAPPING: "fabric",
    IncidentKind.LINK_DEGRADED: "fabric",
    IncidentKind.BGP_DOWN: "fabric",
    IncidentKind.CONGESTION: "fabric",
    IncidentKind.DEVICE_DOWN: "device",
    IncidentKind.DEVICE_REBOOTED: "device",
    IncidentKind.RACK_POWER: "power",
    IncidentKind.ENVIRONMENT: "power",
    IncidentKind.STRAGGLER: "gpu",
    IncidentKind.GPU_FAULT: "gpu",
    IncidentKind.SLOW_STORAGE: "storage",
    IncidentKind.LATE_CHECKPOINT: "storage",
    IncidentKind.CAPACITY: "capacity",
    IncidentKind.WEAR: "capacity",
    IncidentKind.TELEMETRY_LOST: "telemetry",
    IncidentKind.UNEXPLAINED: "unknown",
}


def labels_of(incident: Incident, cluster: str) -> dict[str, str]:
    """The six labels of the one alert that an incident has."""
    return {
        "alertname": "".join(word.capitalize() for word in incident.kind.split("_")),
        "cluster": cluster,
        "domain": _DOMAIN.get(incident.kind, "unknown"),
        "incident_id": incident.id,
        "object": clean(str(incident.root), LABEL_CHARS_MAX),
        "severity": incident.severity.value,
    }
