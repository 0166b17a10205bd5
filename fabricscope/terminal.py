"""An incident as a panel in a terminal: what devices and peers say in it is text, and neither markup nor commands."""

from datetime import UTC, datetime

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from common.printing import printable
from fabricscope.api import views
from telemetry.findings import Evidence
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.quantities import quantity

COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
EVIDENCE_SHOWN = 3
LOST_MIN_S = 36.0  # below it 0.00 GPU-hours would stand there


def incident_panel(incident: Incident) -> Panel:
    """Root, evidence, blast radius, cost, and the first action."""
    blast = incident.blast
    counted = (len(blast.gpus), len(blast.nodes), len(blast.links), len(blast.jobs))
    return _panel(incident, f"{_clock(incident.onset_ns)} UTC", counted)


def answered_panel(incident: views.Incident) -> Panel:
    """The same of an incident that the API answered."""
    blast = incident.blast
    return _panel(incident, incident.onset, (blast.gpus.count, blast.nodes.count, blast.links.count, blast.jobs.count))


def _panel(incident: Incident | views.Incident, onset: str, counted: tuple[int, int, int, int]) -> Panel:
    """counted: GPUs, nodes, links and jobs."""
    resolved = incident.state is IncidentState.RESOLVED
    colour = "green" if resolved else COLOURS[incident.severity]
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    rows.add_row("Root", _text(str(incident.root)))
    rows.add_row("Since", _text(f"{onset}, first symptom: {incident.first_symptom}"))
    for number, evidence in enumerate(incident.evidence[:EVIDENCE_SHOWN]):
        rows.add_row("" if number else "Evidence", _value_and_normal(evidence))
    for number, reason in enumerate((*incident.because[:2], *incident.against)):
        rows.add_row("" if number else "Because", _text(reason))
    times = f"this incident has come {incident.occurrences} times" if incident.occurrences > 1 else ""
    if record := "; ".join(filter(None, (times, incident.record.line if incident.record else ""))):
        rows.add_row("Record", _text(record))
    rows.add_row("Blast radius", _blast(counted, incident.gpu_seconds))
    for number, other in enumerate(incident.alternatives[:2]):
        cause = f"{other.kind} at {other.root.name} ({other.confidence:.0%}): {other.reason}"
        rows.add_row("" if number else "Alternatives", _text(cause))
    rows.add_row("First action", _text(incident.action))
    if incident.missing:
        rows.add_row("Not known", _text("; ".join(incident.missing)))
    if incident.gaps:
        rows.add_row("Data gaps", _text("; ".join(incident.gaps)))
    state = f"{incident.state.value.upper()} · {incident.kind} · confidence {incident.confidence:.0%} · {incident.id}"
    title = _text(incident.title, f"bold {colour}")
    return Panel(Group(title, Text(), rows), title=_text(state), border_style=colour)


def _text(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)


def _value_and_normal(evidence: Evidence) -> Text:
    value, normal, unit = evidence.value, evidence.normal, evidence.unit
    usual = "no normal learned yet" if normal is None else f"normal {quantity(normal, unit)}"
    series = (printable(evidence.series), "dim")
    return Text.assemble((printable(quantity(value, unit)), "bold"), f" ({printable(usual)})  ", series)


def _blast(counted: tuple[int, int, int, int], gpu_seconds: float) -> str:
    named = zip(counted, ("GPU", "node", "link", "job"), strict=True)
    objects = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in named)
    lost = f"{gpu_seconds / 3600:.2f} GPU-hours" if gpu_seconds >= LOST_MIN_S else "no GPU time"
    return f"{objects}; {lost} lost so far"


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%H:%M:%S")
