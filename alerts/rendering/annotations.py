"""What an alert carries beside its labels; the same words for every receiver that shows annotations."""

from urllib.parse import quote

from alerts.decision.own_incident import OWN_KINDS
from alerts.notification import Notification
from alerts.rendering.text import (
    EVIDENCE_LINES,
    TEXT_CHARS_MAX,
    alternatives,
    blast_radius,
    clean,
    evidence_line,
    names_shown,
    since,
    title,
    verdict,
)
from telemetry.incidents import Incident


def annotations_of(notification: Notification) -> dict[str, str]:
    """Title, summary, and the answers to what the on-call asks first; none is empty."""
    incident = notification.incident
    texts = {
        "title": title(incident),
        "summary": f"{title(incident)}. Since {since(incident)}. Reaches {blast_radius(incident.blast)}.",
        "blast_radius": blast_radius(incident.blast),
        "since": since(incident),
        "first_symptom": incident.first_symptom + ("" if incident.order_known else " (order of symptoms not certain)"),
        "gpu_seconds_lost": f"{incident.gpu_seconds:.0f}",
        "confidence": f"{incident.confidence:.0%}",
        "action": incident.action,
        "runbook": incident.runbook,
        "verdict": verdict(incident),
        "record": incident.record.line if incident.record else "",
        "alternatives": alternatives(incident),
        "suppressed": f"{len(incident.findings)} findings explained by this incident",
        "gaps": names_shown(incident.gaps),
        "held_back": f"{notification.held} more incidents wait for the page budget" if notification.held else "",
    }
    for number, evidence in enumerate(incident.evidence[:EVIDENCE_LINES], start=1):
        texts[f"evidence_{number}"] = evidence_line(evidence)
    return {name: cleaned for name, text in texts.items() if (cleaned := clean(text, TEXT_CHARS_MAX))}


def incident_url(incident: Incident, external_url: str) -> str:
    """Where the incident can be seen, '' without an address of our own. Ours about ourselves: what else is open."""
    if not external_url:
        return ""
    every = f"{external_url.rstrip('/')}/api/v1/incidents"
    return every if incident.kind in OWN_KINDS else f"{every}/{quote(incident.id, safe='')}"
