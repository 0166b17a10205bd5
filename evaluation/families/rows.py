"""Figures of families as rows; ``table`` names the one of a row. NaN: nothing is known; inf: never."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from evaluation.families import figures
from evaluation.families.delays import Delay
from evaluation.families.figures import Figure
from evaluation.families.judge import ClusterOutcome, FaultOutcome
from evaluation.families.targets import Row, targets

TITLES = {
    "targets": "What a better product must reach, beside today's figures",
    "families": "Families with faults, by the first page of each fault",
    "pages": "Pages by family",
    "faults": "Kinds of faults, all families together",
    "delays": "Where the seconds until the first page go, by kind of fault: medians of each part",
    "health": "Clusters without faults: pages, all of them false",
    "false_pages": "False pages by family, kind and severity, healthy families included",
    "findings": "Findings by family: true where a fault that lasts reaches the place, and not there without it",
    "costs": "What each fault alone cost, and what the product states",
}


def rows(clusters: Sequence[ClusterOutcome]) -> list[Row]:
    """Rows of all tables, in their order."""
    families = {name: [each for each in clusters if each.family == name] for name in _names(clusters)}
    faulty = {name: of for name, of in families.items() if not of[0].healthy}
    kinds = sorted({fault.fault for fault in figures.counted(clusters)})
    return [
        *targets(clusters),
        *(_faults("families", "family", name, figures.counted(of)) for name, of in faulty.items()),
        *(_pages(name, of) for name, of in faulty.items()),
        *(
            _faults("faults", "fault", kind, [fault for fault in figures.counted(clusters) if fault.fault == kind])
            for kind in kinds
        ),
        *_delays(figures.paged(clusters)),
        *(_health(name, of) for name, of in families.items() if of[0].healthy),
        *_false_pages(clusters),
        *(_findings(name, of) for name, of in families.items()),
        *(row for each in clusters for row in _costs(each)),
    ]


def _names(clusters: Sequence[ClusterOutcome]) -> list[str]:
    return list(dict.fromkeys(each.family for each in clusters))


def _faults(table: str, heading: str, name: str, faults: Sequence[FaultOutcome]) -> Row:
    def part(which: Callable[[FaultOutcome], bool]) -> Figure:
        return figures.share_of(faults, which)

    due = [fault for fault in faults if fault.page_due]
    return {
        "table": table,
        heading: name,
        "faults": len(faults),
        "reported": part(lambda fault: fault.first is not None),
        "root and kind first": part(lambda fault: fault.right_first),
        "root first": part(lambda fault: fault.root_first),
        "root later": part(lambda fault: fault.root_later),
        "text first": part(lambda fault: fault.text_first),
        "severity right": part(lambda fault: fault.severity_right),
        "exactly one": part(lambda fault: fault.exactly_one),
        "member F1": figures.member_f1(faults),
        "delay p50, s": figures.delay(due, 0.5),
        "delay p95, s": figures.delay(due, 0.95),
        "in time": figures.share_of(due, lambda fault: fault.in_time),
    }


def _pages(name: str, clusters: Sequence[ClusterOutcome]) -> Row:
    every = [fault for cluster in clusters for fault in cluster.faults]
    return {
        "table": "pages",
        "family": name,
        "pages": sum(each.pages for each in clusters),
        "right": sum(each.right for each in clusters),
        "precision": figures.precision(clusters),
        "further, right root": sum(fault.duplicates for fault in every),
        "further, wrong root": sum(len(fault.others) - fault.duplicates for fault in every),
        "false": sum(len(each.false) for each in clusters),
        "of these as without faults": sum(each.background for each in clusters),
        "false per 1,000 nodes and week": figures.false_rate(clusters),
        "unpaged incidents of faults": sum(fault.unpaged for fault in every),
        "unpaged, of no fault": sum(each.unpaged_false for each in clusters),
        "faults that nothing shows": sum(not fault.visible for fault in every),
    }


def _delays(faults: Sequence[FaultOutcome]) -> Iterator[Row]:
    """By kind of fault, and of all hard and slow ones. A fault without a page has no parts."""
    for hard in (True, False):
        some = [fault for fault in faults if fault.hard is hard]
        for kind in sorted({fault.fault for fault in some}):
            yield _parts(kind, [fault for fault in some if fault.fault == kind])
        if some:
            yield _parts("all hard" if hard else "all slow", some)


def _parts(name: str, faults: Sequence[FaultOutcome]) -> Row:
    found = [fault.delay for fault in faults if fault.delay is not None]

    def median(part: Callable[[Delay], float]) -> float:
        return statistics.median(map(part, found)) if found else math.nan

    return {
        "table": "delays",
        "fault": name,
        "faults": len(faults),
        "paged": sum(fault.first is not None for fault in faults),
        "until a sample shows it": median(lambda delay: delay.sample_s),
        "more samples": median(lambda delay: delay.persistence_s),
        "tick closes": median(lambda delay: delay.closing_s),
        "hold": median(lambda delay: delay.hold_s),
        "until it pages": median(lambda delay: delay.page_s),
        "all": median(lambda delay: delay.total_s),
        "may take": statistics.median(fault.limit_s for fault in faults),
        "in time": sum(fault.in_time for fault in faults),
    }


def _health(name: str, clusters: Sequence[ClusterOutcome]) -> Row:
    found, false = figures.false_rate(clusters), sum(len(each.false) for each in clusters)
    return {
        "table": "health",
        "family": name,
        "node-days": sum(each.node_days for each in clusters),
        "false pages": false,
        "per 1,000 nodes and week": found,
        "unpaged incidents": sum(each.unpaged_false for each in clusters),
        "what is proven": f"{false} in {found.of:.3g} node-weeks: at most {_bound(found.high)} a week and 1,000 nodes",
    }


def _bound(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"


def _false_pages(clusters: Sequence[ClusterOutcome]) -> Iterator[Row]:
    for (family, kind, severity), count in sorted(figures.false_kinds(clusters).items()):
        yield {"table": "false_pages", "family": family, "incident": kind, "severity": severity, "pages": count}


def _findings(name: str, clusters: Sequence[ClusterOutcome]) -> Row:
    by = sum((each.false_findings for each in clusters), start=type(clusters[0].false_findings)())
    most = ", ".join(
        f"{detector} {count}" for detector, count in sorted(by.items(), key=lambda one: (-one[1], one[0]))[:3]
    )
    return {
        "table": "findings",
        "family": name,
        "findings": sum(each.findings.total() for each in clusters),
        "true": figures.findings(clusters),
        "as without faults": sum(each.background_findings for each in clusters),
        "most false ones": most,
    }


def _costs(cluster: ClusterOutcome) -> Iterator[Row]:
    for fault in cluster.faults:
        if fault.cost is None or fault.together:
            continue
        yield {
            "table": "costs",
            "family": cluster.family,
            "fault": fault.fault,
            "true until the first page, GPU s": fault.cost.first,
            "stated there": fault.cost.stated_first,
            "true in the end, GPU s": fault.cost.final,
            "stated in the end": fault.cost.stated,
            "jobs that lost time": len(fault.cost.jobs),
            "of these in the first page": len(fault.cost.jobs & fault.cost.stated_jobs),
            "other jobs there": len(fault.cost.stated_jobs - fault.cost.jobs),
            "severity": "none" if fault.first is None else str(fault.first.incident.severity),
            "right": "yes" if fault.severity_right else "no",
        }
