"""The noisy-or on a small fabric: what is blamed, what is not, and which findings each cause gets."""

from dataclasses import replace

import pytest

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.cover import OpenCause
from analytics.correlate.view import CorrelationView
from evaluation.noisy_or.choose import choose
from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.objects import parse_object
from tests.unit.analytics.correlate.small_fabric import T0, Fabric

NONE: frozenset[str] = frozenset()
FABRIC = Fabric()
GPU_1, GPU_2, GPU_5 = ("gpu:node1/GPU-0001-0", "gpu:node2/GPU-0002-0", "gpu:node5/GPU-0005-0")
UPLINKS = [f"link:leaf{leaf}/Ethernet4000--spine1/Ethernet{4 * (leaf - 1)}" for leaf in (1, 2, 3)]


def view_of(*findings: Finding) -> CorrelationView:
    known = Cluster()
    known.update(FABRIC.topology)
    return CorrelationView(findings, known)


def find(kind: K, about: str, name: str, at: float = 0, score: float = 1.0) -> Finding:
    return replace(FABRIC.find(kind, about, at, score), id=name, confidence=1.0)


def cause(kind: I, root: str, *names: str, factor: float = 1.0) -> Cause:
    return cause_of(kind, parse_object(root), frozenset(names), "", factor=factor)


def roots(claims: list[Claim]) -> list[str]:
    return [str(claim.cause.root) for claim in claims]


def lost_uplinks(count: int) -> tuple[list[Finding], list[Cause]]:
    """Links of spine1 that are down, each a cause of its own, and the spine as the cause of all of them."""
    found = [find(K.LINK_DOWN, f"leaf{each + 1}/Ethernet4000", str(each)) for each in range(count)]
    links = [cause(I.LINK_DOWN, UPLINKS[each], str(each)) for each in range(count)]
    return found, [*links, cause(I.DEVICE_DOWN, "device:spine1", *(each.id for each in found))]


@pytest.mark.parametrize(("links", "expected"), [(1, UPLINKS[:1]), (3, ["device:spine1"])])
def test_a_shared_device_is_blamed_for_many_symptoms_and_not_for_one(links: int, expected: list[str]) -> None:
    found, causes = lost_uplinks(links)
    assert roots(choose(view_of(*found), causes, [], NONE)) == expected


def test_without_all_of_its_evidence_a_device_is_less_likely() -> None:
    found, (one, two, _) = lost_uplinks(2)
    whole, part = (cause(I.DEVICE_DOWN, "device:spine1", "0", "1", factor=factor) for factor in (1.0, 0.01))
    assert roots(choose(view_of(*found), [one, two, whole], [], NONE)) == ["device:spine1"]
    assert sorted(roots(choose(view_of(*found), [one, two, part], [], NONE))) == UPLINKS[:2]


def test_no_order_of_findings_or_causes_matters() -> None:
    found, causes = lost_uplinks(3)
    xid, stalled = find(K.GPU_XID, "node1", "xid"), find(K.JOB_STALLED, "job:1", "stalled", 1)
    causes += [cause(I.GPU_FAULT, GPU_1, "xid")]
    one = choose(view_of(*found, xid, stalled), causes, [], NONE)
    other = choose(view_of(stalled, xid, *found[::-1]), causes[::-1], [], NONE)
    assert one == other
    assert roots(one) == ["device:spine1", GPU_1]


def test_what_a_cause_explains_well_is_no_cause_of_its_own() -> None:
    """The straggler follows from the broken GPU beside it; without that it is named."""
    xid, slow = find(K.GPU_XID, "node1", "xid"), replace(find(K.STRAGGLER, GPU_1, "slow", 1), evidence=())
    straggler = cause(I.STRAGGLER, GPU_1, "slow")
    (claim,) = choose(view_of(xid, slow), [straggler, cause(I.GPU_FAULT, GPU_1, "xid")], [], NONE)
    assert (str(claim.cause.root), claim.primary, claim.symptoms) == (GPU_1, {"xid"}, {"slow"})
    assert claim.cause.kind is I.GPU_FAULT
    (alone,) = choose(view_of(slow), [straggler], [], NONE)
    assert (alone.cause.kind, alone.primary) == (I.STRAGGLER, {"slow"})


def test_a_symptom_belongs_to_the_nearest_cause() -> None:
    found = [find(K.GPU_XID, "spine4", "a"), find(K.GPU_XID, "spine4", "b", score=3)]
    stalled = find(K.JOB_STALLED, "job:1", "stalled", 1)  # on node1 to node4
    claims = choose(
        view_of(*found, stalled), [cause(I.GPU_FAULT, GPU_1, "a"), cause(I.GPU_FAULT, GPU_5, "b")], [], NONE
    )
    assert [(str(claim.cause.root), claim.symptoms) for claim in claims] == [(GPU_5, set()), (GPU_1, {"stalled"})]


@pytest.mark.parametrize("held_by", [GPU_1, GPU_2])
def test_of_equally_near_causes_the_incident_that_has_a_symptom_keeps_it(held_by: str) -> None:
    causes = {GPU_1: cause(I.GPU_FAULT, GPU_1, "a"), GPU_2: cause(I.GPU_FAULT, GPU_2, "b")}
    found = [find(K.GPU_XID, "node1", "a"), find(K.GPU_XID, "node2", "b"), find(K.JOB_STALLED, "job:1", "stalled", 1)]
    known = OpenCause(causes[held_by], T0, cooling=False, symptoms=frozenset({"stalled"}))
    claims = choose(view_of(*found), list(causes.values()), [known], NONE)
    assert [str(claim.cause.root) for claim in claims if claim.symptoms] == [held_by]


def test_an_open_incident_without_findings_absorbs_symptoms_but_explains_nothing() -> None:
    stalled = find(K.JOB_STALLED, "job:1", "stalled", 1)
    known = OpenCause(cause(I.GPU_FAULT, GPU_1), T0, cooling=True)
    (claim,) = choose(view_of(stalled), [], [known], NONE)
    assert (str(claim.cause.root), claim.primary, claim.symptoms) == (GPU_1, set(), {"stalled"})
    assert choose(view_of(), [], [known], NONE) == []


@pytest.mark.parametrize(("waited", "kinds"), [((), []), (("stalled",), [I.UNEXPLAINED])])
def test_what_nothing_explains_opens_an_incident_once_it_has_waited(waited: tuple[str, ...], kinds: list[I]) -> None:
    claims = choose(view_of(find(K.JOB_STALLED, "job:1", "stalled")), [], [], frozenset(waited))
    assert [claim.cause.kind for claim in claims] == kinds


def test_a_cause_of_which_nothing_counts_any_more_is_not_named() -> None:
    assert choose(view_of(find(K.GPU_XID, "node1", "a")), [cause(I.GPU_FAULT, GPU_1, "a", factor=0.0)], [], NONE) == []
