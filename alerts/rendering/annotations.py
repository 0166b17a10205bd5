"""What an alert carries beside its labels; the same words for every receiver that shows annotations."""

from alerts.addresses import Addresses
from alerts.notification import Notification
from alerts.rendering.links import links_of
from alerts.rendering.text import (
    EVIDENCE_LINES,
    TEXT_CHARS_MAX,
    alternatives,
    blast_radius,
    clean,
    counted,
    evidence_line,
    names_shown,
    record,
    since,
    title,
    verdict,
)


def annotations_of(notification: Notification, to: Addresses) -> dict[str, str]:
    """Links, title, summary, and the answers to what the on-call asks first; none is empty."""
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
        "record": record(incident),
        "alternatives": alternatives(incident),
        "suppressed": counted(len(incident.findings), "finding") + " explained by this incident",
        "gaps": names_shown(incident.gaps),
        "held_back": f"{notification.held} more incidents wait for the page budget" if notification.held else "",
    }
    for number, evidence in enumerate(incident.evidence[:EVIDENCE_LINES], start=1):
        texts[f"evidence_{number}"] = evidence_line(evidence)
    shown = {name: cleaned for name, text in texts.items() if (cleaned := clean(text, TEXT_CHARS_MAX))}
    return links_of(notification, to) | shown  # what a service cuts is at the end
