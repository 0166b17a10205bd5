"""Storms: a step takes a bounded number of findings, hides no other fault, and repeats nothing for what stays as it is.

Work is counted in calls, so that the machine decides nothing.
"""

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import orjson
import pytest

from analytics.correlate.budget import LeftOut
from analytics.correlate.cause import Cause
from analytics.correlate.causes import FAMILIES
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.view import CorrelationView
from analytics.snapshot.stateful import State
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from tests.unit.analytics.correlate.small_fabric import Fabric, Run

PORTION = CorrelateConfig(changed_findings_max=20)
WHOLE = CorrelateConfig(changed_findings_min=2000)


def storm(cluster: Fabric, hosts: int, parts: int = 2, at: float = 0.0) -> list[Finding]:
    """Some GPUs of so many hosts, each with two findings: a cause each. The hosts are not in the topology."""
    return [
        cluster.find(kind, f"gpu:host{host}/GPU-{host}-{part}", at)
        for host in range(hosts)
        for part in range(parts)
        for kind in (K.GPU_LOST, K.GPU_ECC)
    ]


def calls(run: Run, *changed: Finding) -> int:
    """How many functions one step calls."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run.step(*changed)
    finally:
        sys.setprofile(None)
    return counted


def test_a_storm_is_taken_in_portions_and_the_rest_follows(start: type[Run], cluster: Fabric) -> None:
    run, whole = start(cluster, PORTION), start(cluster)
    findings = storm(cluster, 24)
    run.tick(*findings)
    assert run.correlator.left_out[LeftOut.TICK_LIMIT] == 76
    assert len(run.incidents) == 10
    assert {len(one.findings) for one in run.incidents.values()} == {2}  # what one device shows comes together
    assert all("over 20 findings wait to be looked at: the rest follows" in one.gaps for one in run.incidents.values())
    waiting = [run.correlator.left_out.get(LeftOut.TICK_LIMIT, 0) for _ in range(5) if run.tick() is not None]
    assert waiting == [56, 36, 16, 0, 0]
    whole.tick(*findings)
    whole.tick(ticks=5)
    assert run.roots == whole.roots
    assert {one.gaps for one in run.incidents.values()} == {()}


def test_portions_grow_with_what_is_active_between_their_bounds() -> None:
    config = CorrelateConfig()
    assert [config.portion(active) for active in (0, 600, 3000, 20_000)] == [100, 100, 500, 2000]
    assert PORTION.portion(10_000) == 20


def test_a_queue_is_a_reason_for_a_step_although_nothing_was_found(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, PORTION)
    assert not run.correlator.is_due(run.now_ns)
    run.tick(*storm(cluster, 10))
    assert run.correlator.is_due(run.now_ns)
    run.tick(ticks=2)
    assert not run.correlator.is_due(run.now_ns)


def test_a_fault_elsewhere_is_not_behind_the_storm(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, PORTION)
    other = [cluster.find(K.LINK_DOWN, port, 4) for port in (cluster.facing(1, 1), "node1/mlx5_0")]
    run.tick(*storm(cluster, 5, parts=20), *other)
    run.tick()
    assert "link_down leaf1/Ethernet0--node1/mlx5_0" in run.roots


def test_what_ends_while_it_waits_opens_nothing(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, PORTION)
    findings = storm(cluster, 30)
    run.tick(*findings)
    named = {one.root for one in run.incidents.values()}
    run.clear(*(finding for finding in findings if finding.object not in named))
    run.tick(ticks=10)
    assert {one.root for one in run.incidents.values()} == named


def test_a_restart_loses_nothing_of_the_queue(start: type[Run], cluster: Fabric) -> None:
    one, other = start(cluster, PORTION), start(cluster, PORTION)
    for run in (one, other):
        run.tick(*storm(cluster, 24))
    other.correlator.restore(State(orjson.loads(orjson.dumps(one.correlator.state().head)), {}))
    for _ in range(8):
        assert [encode_record(each) for each in one.tick()] == [encode_record(each) for each in other.tick()]
    assert len(one.incidents) == 48


def test_clocks_that_go_back_clear_the_queue_too(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, PORTION)
    run.tick(*storm(cluster, 24))
    closed = run.correlator.close(run.now_ns, run.topology)
    assert len([each for each in closed if isinstance(each, Finding)]) == 96
    assert not run.tick()


@pytest.mark.parametrize("number", [100, 400])
def test_a_step_takes_no_more_work_however_large_the_storm(start: type[Run], cluster: Fabric, number: int) -> None:
    """Scores wait for one step at a time: it may not grow with what arrives."""
    small, large = start(cluster, PORTION), start(cluster, PORTION)
    small.tick(cluster.find(K.LINK_ERRORS, "leaf1/Ethernet0"))
    large.tick(cluster.find(K.LINK_ERRORS, "leaf1/Ethernet0"))
    base = calls(small, *storm(cluster, 20)[:20])
    queueing = 40  # calls for each finding that is only put into its place of the queue
    assert calls(large, *storm(cluster, number)) < 1.5 * base + queueing * 4 * number


def test_a_tick_without_news_repeats_nothing(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, WHOLE)
    first = calls(run, *storm(cluster, 100))
    run.tick(ticks=2)
    assert len(run.incidents) == 200
    assert calls(run) < first / 3


def test_news_of_one_incident_do_not_repeat_the_reports_of_the_others(start: type[Run], cluster: Fabric) -> None:
    run = start(cluster, WHOLE)
    findings = storm(cluster, 100)
    first = calls(run, *findings)
    run.tick(ticks=2)
    again = replace(findings[0], observed_ns=run.now_ns, score=3.0)
    assert calls(run, again) < 0.55 * first
    assert run.correlator.state().head["findings"][again.id].get("score") == 3.0


def test_a_choice_that_rests_on_the_time_is_made_in_every_step(
    start: type[Run], cluster: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def family(view: CorrelationView) -> tuple[Cause, ...]:
        asked.append(view.now_ns)
        return ()

    monkeypatch.setattr("analytics.correlate.correlator.FAMILIES", (*FAMILIES, family))
    run = start(cluster)
    run.tick(*storm(cluster, 2), ticks=4)
    assert len(asked) == 4
