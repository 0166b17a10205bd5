"""The cost that the product states, beside the true one."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.families.counterfactual.harm import Harm
from evaluation.families.paging import Page
from telemetry.incidents import Incident


@dataclass(frozen=True, slots=True)
class Cost:
    """GPU-seconds and jobs of one fault. first: up to its first page, as that states them. final: over all of it.

    stated, stated_first: 0 where no page states anything. jobs, stated_jobs: ids of those that lost time.
    """

    stated_first: float
    first: float
    stated: float
    final: float
    stated_jobs: frozenset[str]
    jobs: frozenset[str]


def cost_of(page: Page | None, harm: Harm, newest: Mapping[str, Incident]) -> Cost:
    """page: the first of the fault; what it states in the end is in the last version of its incident."""
    jobs = frozenset(harm.jobs)
    if page is None:
        return Cost(0.0, harm.total, 0.0, harm.total, frozenset(), jobs)
    last = newest.get(page.incident.id, page.incident)
    stated = frozenset(page.incident.blast.jobs)
    return Cost(page.incident.gpu_seconds, harm.lost_by(page.at_ns), last.gpu_seconds, harm.total, stated, jobs)
