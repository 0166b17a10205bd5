"""Both ways stand side by side, whichever is worse."""

from evaluation.collected.page import JudgedTwice, collected_page, rows
from telemetry.incidents import IncidentKind
from telemetry.ledger import StageReport
from tests.unit.evaluation.families.made_up import CABLE, judge, page, run, truth

DOWN = truth("link-down", CABLE)
RIGHT = judge(run([DOWN], [page(IncidentKind.LINK_DOWN, CABLE, 1012.0)]))
WRONG = judge(run([DOWN], [page(IncidentKind.INCAST, "port:leaf1/Ethernet8", 400.0)]))
REPORTS = {
    "ingest": StageReport("ingest", "i", 0, 1, samples_in=100, samples_out=97, dropped={"stale": 2}),
    "analytics": StageReport("analytics", "a", 0, 1, samples_in=97, samples_out=97),
}


def test_each_way_has_its_figures_and_each_fault_both() -> None:
    found = rows([JudgedTwice(WRONG, RIGHT, REPORTS, 0.25)])
    figures = {row["telemetry"]: row for row in found if row["table"] == "figures" and row["family"] == "all"}
    assert (figures["collected"]["root first"], figures["direct"]["root first"]) == (0.0, 1.0)
    assert (figures["collected"]["false pages"], figures["direct"]["false pages"]) == (1, 0)
    (fault,) = (row for row in found if row["table"] == "faults")
    assert (fault["root first, collected"], fault["root first, direct"]) == ("no page", "yes")
    assert fault["delay, s, direct"] == 12.0
    (false,) = (row for row in found if row["table"] == "false_pages")
    assert (false["incident"], false["collected"], false["direct"]) == (IncidentKind.INCAST, 1, 0)
    (ledger,) = (row for row in found if row["table"] == "ledgers")
    assert (ledger["dropped by ingest"], ledger["unaccounted"]) == (2, 1)


def test_the_page_has_every_table() -> None:
    text = collected_page(rows([JudgedTwice(RIGHT, RIGHT, REPORTS, 0.0)]), 6.0)
    for heading in ("## Families", "## Side by side", "## Fault by fault", "## Ledgers"):
        assert heading in text
    assert "6 simulated seconds a second" in text
    assert "**Not run: intervals-and-losses, without-pause-time, caches-and-clocks.**" in text
