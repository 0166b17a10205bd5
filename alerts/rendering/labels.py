"""The labels of an incident's alert: what routes, silences and receivers match on."""

from alerts.rendering.text import LABEL_CHARS_MAX, clean
from telemetry.incidents import Incident
from telemetry.kinds import incident_kinds


def labels_of(incident: Incident, cluster: str) -> dict[str, str]:
    """The six labels of the one alert that an incident has."""
    return {
        "alertname": "".join(word.capitalize() for word in incident.kind.split("_")),
        "cluster": cluster,
        "domain": incident_kinds()[incident.kind].domain.value,
        "incident_id": incident.id,
        "object": clean(str(incident.root), LABEL_CHARS_MAX),
        "severity": incident.severity.value,
    }
