"""What ``fabricscope run`` prints: incidents as panels, and one line of the stages' reports."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from common.printing import printable
from common.tasks import cancel
from fabricscope.all_in_one import follow_faults, print_incidents
from fabricscope.terminal import incident_panel
from fabricscope.timeline import Timeline, state_line
from simulator.faults.truth import Truth, write_truth
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity
from telemetry.ledger import StageReport
from telemetry.objects import ObjectKind, ObjectRef
from tests.hostile_texts import WELL_FORMED
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.traffic import publish_incidents
from tests.waiting import until

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
        "Evidence      61 % (normal 0 %)  fabric_port_pfc_pause_seconds_total{",
        "              9 B (no normal learned yet)  <img src=x onerror=alert(1)>",
        "Because       node1 pauses leaf1/Ethernet4 and nothing pauses node1",
        "              not incast: no queue is long",
        "Not known     leaf3 not heard of",
        "Record        2nd flap in 24 h",
        "Blast radius  2 GPUs, 1 node, 1 link, 1 job; 2.00 GPU-hours lost so far",
        "Alternatives  incast at leaf1/Ethernet8 (20%): ECN marks without a pausing host",
        "First action  Drain node1 and look at its PCIe link.",
        "Data gaps     1 of 6 switches silent",
    ],
)
def test_a_panel_has_everything_that_one_needs_at_three_in_the_morning(line):
    assert line in printed(INCIDENT)


def test_a_panel_without_gaps_and_alternatives_has_no_empty_lines_for_them():
    text = printed(replace(INCIDENT, gaps=(), alternatives=(), because=(), against=(), missing=(), record=None))
    assert not {"Because", "Not known", "Record"} & set(text.split("  "))
    assert "Data gaps" not in text
    assert "Alternatives" not in text


def test_what_others_say_is_neither_a_command_nor_markup():
    hostile = "\x1b]0;owned\x07[bold red]\x9b2J http://carol:s3cret@host/"
    evidence = (Evidence(f"series{hostile}", 1.0, 1.0, f"bytes{hostile}"),)
    one = replace(INCIDENT, title=hostile, action=hostile, first_symptom=hostile, gaps=(hostile,), id=hostile)
    one = replace(one, because=(hostile,), against=(hostile,), missing=(hostile,))
    assert one.record is not None
    one = replace(one, record=replace(one.record, line=hostile))
    text = printed(replace(one, evidence=evidence), width=400)
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
    assert text.count("\\u001b]0;owned\\u0007[bold red]\\u009b2J http://***@host/") == 12


def test_every_hostile_text_is_text_in_a_panel():
    for text in WELL_FORMED:
        shown = printed(replace(INCIDENT, gaps=(f"begin{text[:200]}end",)), width=4000)
        assert f"begin{printable(text[:200])}end" in shown


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


def test_what_is_no_hour_yet_is_said_in_words():
    assert "no GPU time lost so far" in printed(replace(INCIDENT, gpu_seconds=17.0))
    assert "0.01 GPU-hours lost so far" in printed(replace(INCIDENT, gpu_seconds=36.0))


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
        ([], "starting the stages; the first start on a machine compiles for half a minute"),
        ([INGEST], "7 of 8 polled targets up"),
        ([ANALYTICS], "6,789 series, 12,345 samples evaluated · 2 findings"),
        ([INGEST, ANALYTICS], "7 of 8 polled targets up · 6,789 series, 12,345 samples evaluated · 2 findings"),
    ],
)
def test_the_state_line_is_made_of_the_reports_that_are_there(reports, line):
    assert state_line({report.stage: report for report in reports}) == line


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_demo_says_what_happens_and_when() -> None:
    clock, console = Clock(), Console(width=100, force_terminal=False)
    timeline = Timeline(console, clock)
    idle = replace(ANALYTICS, samples_out=0)
    happens: list[tuple[int, Callable[[], None]]] = [
        (0, lambda: timeline.step("starting the simulator")),
        (9, lambda: timeline.reported({"ingest": replace(INGEST, details={"targets_up": 0.0, "targets": 8.0})})),
        (11, lambda: timeline.reported({"ingest": INGEST, "analytics": idle})),
        (12, lambda: timeline.reported({"ingest": INGEST, "analytics": ANALYTICS})),
        (13, lambda: timeline.reported({"ingest": INGEST, "analytics": ANALYTICS})),
        (15, lambda: timeline.fired("slow_receiver", "before the fault")),
        (20, lambda: timeline.injected("slow-receiver", "nic_port:node3/mlx5_2", ["slow_receiver"])),
        (25, lambda: timeline.fired("telemetry_lost", "something else")),
        (34, lambda: timeline.fired("slow_receiver", "PFC storm\x1b[2J")),
        (40, lambda: timeline.fired("slow_receiver", "another one")),
    ]
    with console.capture() as captured:
        for at_s, happen in happens:
            clock.now_s = 100.0 + at_s
            happen()
    assert captured.get().splitlines() == [
        "   0 s  starting the simulator",
        "  11 s  first samples: 7 of 8 polled targets up",
        "  12 s  first samples evaluated: learning what is normal",
        "  20 s  fault injected: slow-receiver at nic_port:node3/mlx5_2",
        "  34 s  detected 14 s after the fault: PFC storm\\u001b[2J",
    ]


def test_a_bus_that_stays_away_is_a_step_and_so_is_its_return() -> None:
    clock, console = Clock(), Console(width=100, force_terminal=False)
    timeline = Timeline(console, clock)
    with console.capture() as captured:
        for at_s, problem in [
            (0, "away"),
            (9, "away"),
            (9.5, None),
            (10, "away"),
            (21, "gone"),
            (30, "away"),
            (31, None),
        ]:
            clock.now_s = 100.0 + at_s
            timeline.bus_is(problem)
    assert captured.get().splitlines() == [
        "  21 s  the bus does not answer, all stages wait for it: gone",
        "  31 s  the bus answers again",
    ]


def test_the_last_line_has_the_time_and_how_long_the_fault_is_there() -> None:
    clock = Clock()
    timeline = Timeline(Console(), clock)
    timeline.wait_for("starting")
    clock.now_s += 3
    assert str(timeline.__rich__()) == "3 s: starting"
    timeline.injected("link-down", "link:a", ["link_down"])
    clock.now_s += 7
    assert str(timeline.__rich__()) == "10 s: starting · fault since 7 s, not detected yet"
    timeline.fired("link_down", "found")
    assert str(timeline.__rich__()) == "10 s: starting"


async def test_faults_that_a_simulator_writes_are_steps(tmp_path: Path) -> None:
    """With the kinds of incidents that are right about them."""
    truth = Truth("slow-receiver", IncidentKind.SLOW_RECEIVER, ObjectRef(ObjectKind.PORT, "leaf1/Ethernet0"), 1, 0)
    console = Console(width=100, force_terminal=False)
    timeline = Timeline(console, Clock())
    write_truth(tmp_path / "truth.jsonl", [truth])
    with console.capture() as captured:
        following = asyncio.create_task(follow_faults(tmp_path / "truth.jsonl", timeline))
        await asyncio.sleep(0)
        timeline.fired(IncidentKind.SLOW_RECEIVER, "found")
        await cancel([following])
    assert captured.get().splitlines() == [
        "   0 s  fault injected: slow-receiver at port:leaf1/Ethernet0",
        "   0 s  detected 0 s after the fault: found",
    ]


async def test_an_incident_that_gets_worse_has_a_line_and_one_whose_text_changes_has_none(bus):
    written = StringIO()
    showing = asyncio.create_task(print_incidents(bus, Timeline(Console(file=written, width=160))))
    begun = replace(INCIDENT, severity=Severity.INFO, title="begun")
    worse = replace(begun, severity=Severity.CRITICAL, title="worse")
    over = replace(worse, state=IncidentState.RESOLVED, title="over")
    await publish_incidents(bus, begun, replace(begun, title="reworded"), worse, replace(worse, title="again"), over)
    await until(lambda: "RESOLVED" in written.getvalue())
    await cancel([showing])
    text = written.getvalue()
    assert [title for title in ("begun", "reworded", "worse", "again", "over") if title in text] == [
        "begun",
        "worse",
        "over",
    ]
    assert text.count("FIRING") == 1
    assert "info before, now worse" in text
