"""What ``fabricscope run`` prints: incidents as panels, and one line of the stages' reports."""

from dataclasses import replace

import pytest
from rich.console import Console

from fabricscope.all_in_one import stage_children, state_line
from fabricscope.settings import Settings
from fabricscope.terminal import incident_panel
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Incident, IncidentState, Severity
from telemetry.ledger import StageReport
from tests.unit.fabricscope.api.traffic import incident

ONSET_NS = 1_700_000_000_000_000_000  # 22:13:20 UTC
INCIDENT = replace(incident(), onset_ns=ONSET_NS)


def printed(one: Incident, width: int = 200) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(incident_panel(one))
    return captured.get()


@pytest.mark.parametrize(
    "line",
    [
        "FIRING · slow_receiver · confidence 93% · i1",
        "[CRIT] pod1: PFC storm from leaf1/Ethernet4 — 64 GPUs, 1 job stalled",
        "Root          port:leaf1/Ethernet4",
        "Since         22:13:20 UTC, first symptom: leaf1/Ethernet4 is paused by its host for 61 % of the time",
        "Evidence      0.61 ratio (normal 0)  fabric_port_pfc_pause_seconds_total{",
        "              9 bytes (no baseline yet)  <img src=x onerror=alert(1)>",
        "Blast radius  2 GPUs, 1 node, 1 link, 1 job; 2.00 GPU-hours lost so far",
        "Alternatives  incast at leaf1/Ethernet8 (20%): ECN marks without a pausing host",
        "First action  Drain node1 and look at its PCIe link.",
        "Data gaps     1 of 6 switches silent",
    ],
)
def test_a_panel_has_everything_that_one_needs_at_three_in_the_morning(line):
    assert line in printed(INCIDENT)


def test_a_panel_without_gaps_and_alternatives_has_no_empty_lines_for_them():
    text = printed(replace(INCIDENT, gaps=(), alternatives=()))
    assert "Data gaps" not in text
    assert "Alternatives" not in text


def test_a_panel_shows_the_strongest_evidence():
    many = tuple(Evidence(f"series{n}", float(n), 1.0, "bytes") for n in range(5))
    text = printed(replace(INCIDENT, evidence=many))
    assert [n for n in range(5) if f"series{n}" in text] == [0, 1, 2]


@pytest.mark.parametrize(
    ("blast", "text"),
    [
        (BlastRadius(), "0 GPUs, 0 nodes, 0 links, 0 jobs; 2.00 GPU-hours"),
        (BlastRadius(("l",), ("n",), ("g",), ("j",)), "1 GPU, 1 node, 1 link, 1 job; 2.00 GPU-hours"),
        (BlastRadius(jobs=("a", "b")), "0 GPUs, 0 nodes, 0 links, 2 jobs; 2.00 GPU-hours"),
    ],
)
def test_the_blast_radius_counts_with_the_right_nouns(blast, text):
    assert text in printed(replace(INCIDENT, blast=blast))


@pytest.mark.parametrize(
    ("state", "severity", "colour"),
    [
        (IncidentState.FIRING, Severity.CRITICAL, "red"),
        (IncidentState.FIRING, Severity.WARNING, "yellow"),
        (IncidentState.PENDING, Severity.INFO, "cyan"),
        (IncidentState.RESOLVED, Severity.CRITICAL, "green"),
    ],
)
def test_the_colour_is_that_of_the_severity_until_it_is_resolved(state, severity, colour):
    assert incident_panel(replace(INCIDENT, state=state, severity=severity)).border_style == colour


def test_labels_of_the_telemetry_are_no_markup():
    assert "[bold]x" in printed(replace(INCIDENT, evidence=(Evidence("[bold]x", 1.0, 1.0, "bytes"),)))


INGEST = StageReport("ingest", "a", 1, 2, details={"targets_up": 7.0, "targets": 8.0})
ANALYTICS = StageReport("analytics", "a", 1, 2, samples_out=12_345, details={"series": 6789.0, "findings_active": 2.0})


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        ([], "starting…"),
        ([INGEST], "7 of 8 polled targets up"),
        ([ANALYTICS], "6,789 series, 12,345 samples evaluated · 2 findings"),
        ([INGEST, ANALYTICS], "7 of 8 polled targets up · 6,789 series, 12,345 samples evaluated · 2 findings"),
    ],
)
def test_the_state_line_is_made_of_the_reports_that_are_there(reports, line):
    assert state_line({report.stage: report for report in reports}) == line


RECEIVER = {"receivers": [{"type": "webhook", "url": "http://127.0.0.1:1"}]}


@pytest.mark.parametrize(
    ("document", "stages"),
    [
        ({}, ["ingest", "analytics", "api"]),
        ({"alerting": RECEIVER}, ["ingest", "analytics", "alerts", "api"]),
        ({"remote_write": [{"url": "http://127.0.0.1:1"}]}, ["ingest", "analytics", "export", "api"]),
        ({"recording": {"path": "r"}}, ["ingest", "analytics", "recorder", "api"]),
    ],
)
def test_only_stages_with_something_to_do_are_started(tmp_path, document, stages):
    settings = Settings.model_validate({"global": {"data_dir": str(tmp_path)}, **document})
    children = stage_children(tmp_path / "a.yaml", settings)
    assert [child.name for child in children] == stages
    assert [child.log_path for child in children] == [tmp_path / "logs" / f"{stage}.log" for stage in stages]
    assert not any(child.pid for child in children), "nothing runs before it is started"
