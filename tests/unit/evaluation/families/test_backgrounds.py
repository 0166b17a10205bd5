"""What is ordinary in a cluster, end to end, each alone: it stays a line on the board, or nothing, and pages nobody."""

from typing import NamedTuple

import pytest

from evaluation.families import parts
from evaluation.families.family import Family
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import FamilyRun, run_plan
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity


class Background(NamedTuple):
    """conditions: with their strengths. shows: the findings that it has here. lines: the incidents that it may be.
    lasts_s: long enough for what would be found if its premise was not asked for."""

    name: str
    conditions: tuple[tuple[str, float], ...] = ()
    work: tuple[str, ...] = ("data-parallel",)
    collection: str = "ideal"
    hosts: int = 4
    lasts_s: float = 420.0
    shows: frozenset[K] = frozenset()
    lines: frozenset[I] = frozenset()


BACKGROUNDS = [
    Background(
        "hosts that pause 0.3 % of the time",
        conditions=(("pcie-hiccups", 1.0),),
        shows=frozenset({K.PFC_PAUSE_SENT, K.QUEUE_CONGESTED}),
        lines=frozenset({I.INCAST, I.SLOW_RECEIVER}),
    ),
    Background(
        "the same in frames alone",
        conditions=(("pcie-hiccups", 1.0),),
        collection="frames-only",
        shows=frozenset({K.PFC_PAUSE_RECEIVED, K.PFC_PAUSE_SENT, K.QUEUE_CONGESTED}),
        lines=frozenset({I.INCAST, I.SLOW_RECEIVER}),
    ),
    Background(
        "all-to-all",
        conditions=(("hash-collisions", 1.0),),
        work=("mixture-of-experts",),
        hosts=8,
        shows=frozenset({K.QUEUE_CONGESTED, K.ECN_MARKING}),
        lines=frozenset({I.INCAST, I.CONGESTION}),
    ),
    Background(
        "XIDs of programs",
        conditions=(("application-xids", 10.0),),
        work=("small",),
        shows=frozenset({K.PROGRAM_ERROR}),
        lines=frozenset({I.PROGRAM_FAILED}),
    ),
    Background("notebooks and evaluation phases", work=("notebook", "evaluation"), lasts_s=900.0),
    Background("other clients under power-capped clocks", conditions=(("other-clients", 2.0), ("power-cap", 1.5))),
    Background("rollouts", work=("rl-rollout",), lasts_s=900.0),
    Background("mixed scrape intervals", collection="mixed-intervals"),
]


def run(of: Background, seed: int) -> FamilyRun:
    family = Family(
        name="background",
        stands_for="a test",
        conditions=tuple(name for name, _ in of.conditions),
        work=of.work,
        collection=of.collection,
        hosts=of.hosts,
    )
    mix = JobMix(jobs=len(of.work), checkpoint_period_s=150.0, lifetime_s=1200.0)
    config = parts.cluster_config(family, mix, seed=seed, interval_s=10.0, step_ms=50)
    strong = tuple(ConditionConfig(name=name, strength=strength) for name, strength in of.conditions)
    return run_plan(FamilyPlan(family, seed, config.model_copy(update={"conditions": strong}), (), of.lasts_s))


@pytest.mark.parametrize("background", BACKGROUNDS, ids=lambda of: of.name)
def test_it_pages_nobody(background: Background) -> None:
    found = run(background, 11)
    assert [page.incident.title for page in found.pages] == []
    assert {each.kind for each in found.findings.values()} == background.shows
    incidents = found.newest.values()
    assert {each.severity for each in incidents} <= {Severity.INFO}
    assert {each.kind for each in incidents} <= background.lines
