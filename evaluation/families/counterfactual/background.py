"""What the background causes: it comes without the faults too, at the same place, of the same kind, at about the same
time."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from evaluation.families.counterfactual.branch import Branch
from evaluation.families.paging import Page
from telemetry.findings import Finding
from telemetry.incidents import Severity

# As long after a fault a page still belongs to it. A background that depends on the phases of jobs (checkpoints,
# all-reduces) comes at other times once a fault has delayed these.
SAME_TIME_NS = int(6 * INTERVAL_S * NS_PER_S)
T = TypeVar("T")


def background_pages(pages: Sequence[Page], branches: Iterable[Branch]) -> frozenset[int]:
    """Positions of the pages that have a counterpart without the faults: one that was sent, or one that fires and that
    only the page budget held back. A counterpart stands for one page."""
    found: set[int] = set()
    for branch in branches:
        sent = {page.incident.id for page in branch.pages}
        held = [each for each in branch.firing if each.incident.id not in sent and _pages_somebody(each)]
        here = [at for at, page in enumerate(pages) if branch.from_ns < page.at_ns <= branch.until_ns]
        matched = _matched([pages[at] for at in here], [*branch.pages, *held], _what, _sent_ns)
        found |= {here[at] for at in matched}
    return frozenset(found)


def background_firing(firing: Iterable[Page], branches: Iterable[Branch]) -> frozenset[str]:
    """Ids of the incidents, paged or not, that fire without the faults too."""
    every, found = list(firing), set[str]()
    for branch in branches:
        here = [page for page in every if branch.from_ns < page.at_ns <= branch.until_ns]
        found |= {here[at].incident.id for at in _matched(here, branch.firing, _what, _sent_ns)}
    return frozenset(found)


def background_findings(findings: Iterable[Finding], branches: Iterable[Branch]) -> frozenset[str]:
    """Ids of the findings that come without the faults too."""
    every, found = list(findings), set[str]()
    for branch in branches:
        here = [each for each in every if branch.from_ns < each.observed_ns <= branch.until_ns]
        matched = _matched(here, branch.findings, lambda each: (each.kind, each.object), lambda each: each.onset_ns)
        found |= {here[at].id for at in matched}
    return frozenset(found)


def _pages_somebody(firing: Page) -> bool:
    return firing.incident.severity is not Severity.INFO


def _what(page: Page) -> Hashable:
    return page.incident.kind, page.incident.root


def _sent_ns(page: Page) -> int:
    return page.at_ns


def _matched(
    actual: Sequence[T], other: Sequence[T], what: Callable[[T], Hashable], when_ns: Callable[[T], int]
) -> set[int]:
    """Positions in ``actual`` of those that have a counterpart in ``other``; the closest in time are paired first."""
    candidates: dict[Hashable, list[int]] = {}
    for at, each in enumerate(other):
        candidates.setdefault(what(each), []).append(at)
    pairs = [
        (apart_ns, at, there)
        for at, each in enumerate(actual)
        for there in candidates.get(what(each), ())
        if (apart_ns := abs(when_ns(each) - when_ns(other[there]))) <= SAME_TIME_NS
    ]
    taken: set[int] = set()
    found: set[int] = set()
    for _, at, there in sorted(pairs):
        if at not in found and there not in taken:
            found.add(at)
            taken.add(there)
    return found
