"""docs/evaluation/results-collected.md: both ways side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation import report
from evaluation.collected.families import FAMILIES, HOURS, SEED
from evaluation.families import figures
from evaluation.families.judge import ClusterOutcome
from evaluation.families.page import cell
from evaluation.families.targets import Row
from telemetry.ledger import StageReport

WAYS = ("collected", "direct")
_HEADINGS = {
    "figures": "Side by side",
    "faults": "Fault by fault",
    "false_pages": "False pages",
    "ledgers": "Ledgers",
}


@dataclass(frozen=True, slots=True)
class JudgedTwice:
    """The outcome of one cluster, both ways. reports, lag_s: see ``PlanTwice``."""

    collected: ClusterOutcome
    direct: ClusterOutcome
    reports: dict[str, StageReport]
    lag_s: float


def rows(judged: Sequence[JudgedTwice]) -> list[Row]:
    """Rows of all tables; ``table`` names the one of a row."""
    names = list(dict.fromkeys(each.direct.family for each in judged))
    found = [row for name in names for row in _figures(name, [each for each in judged if each.direct.family == name])]
    found += _figures("all", judged)
    found += [row for each in judged for row in _faults(each)]
    found += [row for name in names for row in _false(name, [each for each in judged if each.direct.family == name])]
    return found + [_ledger(each) for each in judged]


def _figures(family: str, judged: Sequence[JudgedTwice]) -> list[Row]:
    return [_of_way(family, way, [getattr(each, way) for each in judged]) for way in WAYS]


def _of_way(family: str, way: str, clusters: Sequence[ClusterOutcome]) -> Row:
    counted, paged = figures.counted(clusters), figures.paged(clusters)
    first = figures.share_of(counted, lambda fault: fault.root_first)
    one = figures.share_of(counted, lambda fault: fault.exactly_one)
    return {
        "table": "figures",
        "family": family,
        "telemetry": way,
        "faults": len(counted),
        "paged": figures.share_of(counted, lambda fault: fault.first is not None).value,
        "root first": first.value,
        "from": first.low,
        "to": first.high,
        "root and kind first": figures.share_of(counted, lambda fault: fault.right_first).value,
        "exactly one": one.value,
        "one from": one.low,
        "one to": one.high,
        "pages": sum(each.pages for each in clusters),
        "false pages": sum(len(each.false) for each in clusters),
        "findings": sum(sum(each.findings.values()) for each in clusters),
        "delay p50, s": figures.delay(paged, 0.5),
        "in time": figures.share_of(paged, lambda fault: fault.in_time).value,
    }


def _faults(judged: JudgedTwice) -> list[Row]:
    found = []
    for collected, direct in zip(judged.collected.faults, judged.direct.faults, strict=True):
        row: Row = {"table": "faults", "family": judged.direct.family, "fault": direct.fault, "at, s": direct.at_s}
        for way, fault in zip(WAYS, (collected, direct), strict=True):
            row[f"root first, {way}"] = "yes" if fault.root_first else "no" if fault.first else "no page"
            row[f"delay, s, {way}"] = fault.delay_s
            row[f"further pages, {way}"] = len(fault.others)
        found.append(row)
    return found


def _false(family: str, judged: Sequence[JudgedTwice]) -> list[Row]:
    """False pages by kind and severity, both ways."""
    counts = [figures.false_kinds([getattr(each, way) for each in judged]) for way in WAYS]
    found = []
    for _, kind, severity in sorted(counts[0].keys() | counts[1].keys()):
        row: Row = {"table": "false_pages", "family": family, "incident": kind, "severity": severity}
        found.append(row | {way: of[family, kind, severity] for way, of in zip(WAYS, counts, strict=True)})
    return found


def _ledger(judged: JudgedTwice) -> Row:
    ingest, analytics = judged.reports["ingest"], judged.reports["analytics"]
    return {
        "table": "ledgers",
        "family": judged.direct.family,
        "samples collected": ingest.samples_in,
        "published": ingest.samples_out,
        "dropped by ingest": sum(ingest.dropped.values()),
        "read by analytics": analytics.samples_in,
        "dropped by analytics": sum(analytics.dropped.values()),
        "unaccounted": abs(ingest.balance) + abs(analytics.balance),
        "simulation late by, s": judged.lag_s,
    }


def collected_page(found: Sequence[Row], speed: float) -> str:
    about = (
        "Written by `python -m evaluation collected`. The same plans, twice: *collected* through the servers of the "
        "simulator and the real collectors, *direct* without a protocol. How, and why they differ: "
        "[collected.md](collected.md)."
    )
    clusters = sum(row["table"] == "ledgers" for row in found)
    setting = (
        f"From seed {SEED} on, {clusters} clusters of {HOURS:g} simulated hours, {speed:g} simulated seconds a second. "
        "Bounds (`from`, `to`) are exact, 95 %: so few faults leave them wide, and a difference within them is "
        "none. The figures of real processes depend a little on the machine; the direct ones are reproducible."
    )
    ran = {row["family"] for row in found}
    absent = [family.name for family in FAMILIES if family.name not in ran]
    left_out = [f"**Not run: {', '.join(absent)}.** The figures say nothing about them."] if absent else []
    families = [[f"`{each.name}`", each.stands_for, each.collection] for each in FAMILIES]
    sections = [*left_out, "## Families", report.table(("family", "stands for", "telemetry"), families)]
    for table, heading in _HEADINGS.items():
        of_table = [row for row in found if row["table"] == table]
        sections += [f"## {heading}", _table(of_table) if of_table else "None."]
    return report.page("Results: through real collectors", about, setting, *sections)


def _table(of: Sequence[Row]) -> str:
    headings = tuple(key for key in of[0] if key != "table")
    return report.table(headings, [[cell(row[key]) for key in headings] for row in of])
