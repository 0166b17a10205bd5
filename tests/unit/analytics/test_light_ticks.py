"""Hard evidence opens a finding before its tick is complete; everything else waits for the whole tick."""

from collections.abc import Sequence

import pytest

from analytics.correlate.correlator import Correlator
from analytics.detectors.fabric.link_bounced import LinkBounced
from analytics.detectors.spec import Verdicts
from analytics.engine import Engine
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from analytics.worker import build_engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import SampleBatch
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.small_cluster import CONFIG, SECOND, START_NS, batch, clockwork, port_key, run, table

LEAF = table("leaf1", [port_key("fabric_port_up"), port_key("fabric_port_up", "Ethernet4")])
DOWN, UP_AGAIN = 3, 6  # collections, ten seconds each
LIGHT_S = CONFIG.light_tick_ns / SECOND


def collections(until: int) -> list[SampleBatch]:
    """One port is down for a while; another target gives the time in between."""
    leaf = [batch(LEAF, seq, [0.0 if DOWN <= seq < UP_AGAIN else 1.0, 1.0]) for seq in range(until)]
    clock = clockwork(LIGHT_S + CONFIG.holdback_ns / SECOND, range(until))
    return sorted([*leaf, *clock], key=lambda each: each.collection.collected_ns)


def link_findings(engine: Engine, of: Sequence[SampleBatch]) -> list[Finding]:
    return [each for each in run(engine, of) if isinstance(each, Finding) and each.kind is FindingKind.LINK_DOWN]


def test_a_link_is_found_down_before_its_tick_is_complete() -> None:
    (found,) = link_findings(build_engine(CONFIG), collections(DOWN + 1))
    assert found.onset_ns == START_NS + DOWN * 10 * SECOND


def test_a_finding_ends_with_a_whole_tick() -> None:
    engine = build_engine(CONFIG)
    assert [each.state for each in link_findings(engine, collections(UP_AGAIN + 1))] == [FindingState.ACTIVE]
    (cleared,) = link_findings(engine, collections(UP_AGAIN + 2)[2 * (UP_AGAIN + 1) :])
    assert cleared.state is FindingState.CLEARED


def test_only_hard_evidence_is_judged_between_whole_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_ns: list[int] = []

    def judge(detector: LinkBounced, view: TickView, memory: Memory) -> list[Verdicts]:
        judged_ns.append(view.end_ns)
        return []

    monkeypatch.setattr(LinkBounced, "judge", judge)
    run(build_engine(CONFIG), collections(UP_AGAIN))
    assert judged_ns
    assert not any(end_ns % CONFIG.tick_ns for end_ns in judged_ns)


def test_a_light_tick_that_finds_nothing_is_not_correlated(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Engine = new_engine()
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    step, empty_ns = Correlator.step, list[int]()

    def counted(correlator: Correlator, now_ns: int, changed: Sequence[Finding], *rest: object) -> object:
        if not changed and not correlator.is_due(now_ns):
            empty_ns.append(now_ns)
        return step(correlator, now_ns, changed, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Correlator, "step", counted)
    run(engine, batches())
    assert empty_ns
    assert not any(now_ns % CONFIG.tick_ns for now_ns in empty_ns)
