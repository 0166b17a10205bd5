"""The set cover by hand: which causes are chosen, in which order, and which findings they get.

A finding of confidence 1 and score s weighs s. The gain of a cause is prior x factor x sum of the weights that are
left; the prior of a link that is down is 1.0, of a device that is down 1.2.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.correlate.cause import Cause, cause_of, weight
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.cover import OpenCause, choose, gain
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.kinds import Tier, incident_kinds
from telemetry.objects import device, parse_object
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, S

NONE: frozenset[str] = frozenset()
UPLINK = "link:leaf1/Ethernet4000--spine1/Ethernet0"


def view_of(cluster: Fabric, *findings: Finding) -> CorrelationView:
    known = Cluster()
    known.update(cluster.topology)
    return CorrelationView(findings, known)


def find(cluster: Fabric, kind: K, about: str, name: str = "", at: float = 0, score: float = 1.0) -> Finding:
    """A finding of confidence 1, so that its score is its weight."""
    finding = cluster.find(kind, about, at, score)
    return replace(finding, id=name or finding.id, confidence=1.0)


def cause(kind: I, root: str, *names: str, factor: float = 1.0, tier: Tier | None = None) -> Cause:
    return cause_of(kind, parse_object(root), frozenset(names), "", factor=factor, tier=tier)


def chosen(claims: list[Claim]) -> list[tuple[str, set[str], set[str]]]:
    return [(claim.cause.root.name, claim.primary, claim.symptoms) for claim in claims]


@pytest.mark.parametrize(
    ("confidence", "score", "expected"),
    [(1.0, 2.0, 2.0), (0.5, 2.0, 1.0), (0.0, 2.0, 0.1), (2.0, 2.0, 2.0), (1.0, 0.1, 0.5), (1.0, 50.0, 3.0)],
)
def test_weight_is_confidence_times_score_within_limits(
    cluster: Fabric, confidence: float, score: float, expected: float
) -> None:
    finding = replace(cluster.find(K.LINK_DOWN, "leaf1/Ethernet0", score=score), confidence=confidence)
    assert weight(finding) == pytest.approx(expected)


def test_gain_is_prior_times_factor_times_the_weight_of_what_is_left(cluster: Fabric) -> None:
    found = [find(cluster, K.LINK_DOWN, "leaf1", name, score=score) for name, score in (("a", 1), ("b", 2), ("c", 3))]
    view, down = view_of(cluster, *found), cause(I.DEVICE_DOWN, "device:leaf1", "a", "b", "c", factor=0.5)
    assert incident_kinds()[I.DEVICE_DOWN].prior == 1.2
    assert gain(view, down, {"a", "b", "c"}) == pytest.approx(1.2 * 0.5 * 6)
    assert gain(view, down, {"b", "x"}) == pytest.approx(1.2 * 0.5 * 2)
    assert gain(view, down, set()) == 0.0


def test_the_cause_that_explains_most_comes_first_and_the_others_get_the_rest(cluster: Fabric) -> None:
    """Gains 1.2 x 3 for the device and 1.0 x 2 for the link, which keeps 1.0 x 1 of it."""
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in "abcd"))
    link, dead = cause(I.LINK_DOWN, UPLINK, "c", "d"), cause(I.DEVICE_DOWN, "device:spine1", "a", "b", "c")
    claims = choose(view, [link, dead], [], NONE)
    assert chosen(claims) == [("spine1", {"a", "b", "c"}, set()), (UPLINK.removeprefix("link:"), {"d"}, set())]
    assert [claim.gain for claim in claims] == [pytest.approx(3.6), pytest.approx(1.0)]


def test_a_cause_waits_while_others_explain_more_than_what_is_left_for_it(cluster: Fabric) -> None:
    """The second gain is 4 at first; once the first cause has its findings it is 1, less than the third one's 2."""
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in "abcdefgh"))
    links = [f"link:{n}/1--{n}/2" for n in "xyz"]
    sets = ("abcde", "cdef", "gh")
    claims = choose(view, [cause(I.LINK_DOWN, link, *names) for link, names in zip(links, sets, strict=True)], [], NONE)
    assert [sorted(claim.primary) for claim in claims] == [["a", "b", "c", "d", "e"], ["g", "h"], ["f"]]


def test_a_cause_whose_findings_are_all_explained_is_not_chosen(cluster: Fabric) -> None:
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in "abc"))
    dead = cause(I.DEVICE_DOWN, "device:spine1", "a", "b", "c")
    claims = choose(view, [cause(I.LINK_DOWN, UPLINK, "a"), dead, cause(I.LINK_DOWN, "link:x/1--y/1", "b")], [], NONE)
    assert chosen(claims) == [("spine1", {"a", "b", "c"}, set())]


@given(
    scores=st.lists(st.floats(0.5, 3.0), min_size=8, max_size=8),
    sets=st.lists(st.sets(st.integers(0, 7), min_size=2), min_size=2, max_size=8),
    opened=st.sets(st.integers(0, 7)),
)
def test_it_chooses_what_a_plain_greedy_search_chooses(
    cluster: Fabric, scores: list[float], sets: list[set[int]], opened: set[int]
) -> None:
    """The heap keeps old gains; here every gain is computed again before each choice."""
    found = [find(cluster, K.LINK_DOWN, "leaf1", str(n), score=score) for n, score in enumerate(scores)]
    causes = [cause(I.LINK_DOWN, f"link:x/{at}--y/{at}", *map(str, members)) for at, members in enumerate(sets)]
    open_causes = [OpenCause(known, T0, cooling=False) for at, known in enumerate(causes) if at in opened]
    left, expected = {finding.id: finding.score for finding in found}, []
    while True:
        gains = [
            -sum(left.get(name, 0.0) for name in sorted(known.primary)) * (1.1 if at in opened else 1.0)
            for at, known in enumerate(causes)
        ]
        best = min(range(len(causes)), key=lambda at: (gains[at], at), default=None)
        if best is None or gains[best] == 0:
            break
        mine = set(causes[best].primary & left.keys())
        expected.append((causes[best].root.name, mine))
        left = {name: score for name, score in left.items() if name not in mine}
    claims = choose(view_of(cluster, *found), causes, open_causes, NONE)
    assert [(claim.cause.root.name, claim.primary) for claim in claims] == expected


def test_the_order_of_the_proposals_does_not_matter(cluster: Fabric) -> None:
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in "ab"))
    equal = [cause(I.LINK_DOWN, f"link:{n}/1--{n}/2", "a", "b") for n in ("x", "y")]
    assert chosen(choose(view, equal, [], NONE)) == chosen(choose(view, equal[::-1], [], NONE))
    assert chosen(choose(view, equal, [], NONE)) == [("x/1--x/2", {"a", "b"}, set())]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"factor": 0.5}, {"factor": 1.0}, {"b"}),  # more of the usual evidence
        ({"factor": 1.0}, {"factor": 1.0}, {"a"}),  # equal: the first
    ],
)
def test_of_two_causes_with_one_kind_and_root_the_stronger_is_kept(
    cluster: Fabric, first: dict[str, float], second: dict[str, float], expected: set[str]
) -> None:
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in "ab"))
    causes = [cause(I.LINK_DOWN, UPLINK, "a", **first), cause(I.LINK_DOWN, UPLINK, "b", **second)]  # type: ignore[arg-type]
    (claim,) = choose(view, causes, [], NONE)
    assert claim.primary == expected


@pytest.mark.parametrize(("score", "root"), [(1.09, "y"), (1.11, "x")])
def test_between_equals_an_open_incident_stays(cluster: Fabric, score: float, root: str) -> None:
    """A new cause must explain a tenth more than the open one to replace it."""
    shared = find(cluster, K.LINK_DOWN, "leaf1", "shared")
    mine, other = find(cluster, K.LINK_DOWN, "leaf1", "mine"), find(cluster, K.LINK_DOWN, "leaf1", "other")
    mine = replace(mine, score=2 * score - 1)  # 1 + (2 score - 1) against 2 for the open one
    new = cause(I.LINK_DOWN, "link:x/1--x/2", "shared", "mine")
    known = cause(I.LINK_DOWN, "link:y/1--y/2", "shared", "other")
    claims = choose(view_of(cluster, shared, mine, other), [new, known], [OpenCause(known, T0, cooling=False)], NONE)
    assert claims[0].cause.root.name == f"{root}/1--{root}/2"


def test_the_onset_is_that_of_the_earliest_finding_or_of_the_open_incident(cluster: Fabric) -> None:
    found = [find(cluster, K.LINK_DOWN, "leaf1", "a", 7), find(cluster, K.LINK_DOWN, "leaf1", "b", 3)]
    down = cause(I.LINK_DOWN, UPLINK, "a", "b")
    (new,) = choose(view_of(cluster, *found), [down], [], NONE)
    assert new.onset_ns == T0 + 3 * S
    (continued,) = choose(view_of(cluster, *found), [down], [OpenCause(down, T0, cooling=False)], NONE)
    assert continued.onset_ns == T0


def test_a_lower_tier_explains_first_whatever_the_gain(cluster: Fabric) -> None:
    names = "abcdef"
    view = view_of(cluster, *(find(cluster, K.LINK_DOWN, "leaf1", name) for name in names))
    hard = cause(I.LINK_DOWN, UPLINK, "a", tier=Tier.HARD)
    soft = cause(I.RACK_POWER, "rack:r1", *names, tier=Tier.SOFT)
    dependent = cause(I.SLOW_STORAGE, "storage_target:scratch/OST0000", "a", "b", tier=Tier.DEPENDENT)
    claims = choose(view, [soft, dependent, hard], [], NONE)
    assert [sorted(claim.primary) for claim in claims] == [["a"], ["b"], ["c", "d", "e", "f"]]


def test_symptoms_about_the_root_are_claimed_before_a_weaker_cause_of_the_same_tier(cluster: Fabric) -> None:
    down = find(cluster, K.LINK_DOWN, "leaf1/Ethernet4000", score=3)
    marks = find(cluster, K.ECN_MARKING, "leaf1/Ethernet4000", at=1)
    weaker = cause(I.INCAST, "port:leaf1/Ethernet4000", marks.id)
    claims = choose(view_of(cluster, down, marks), [cause(I.LINK_DOWN, UPLINK, down.id), weaker], [], NONE)
    assert chosen(claims) == [(UPLINK.removeprefix("link:"), {down.id}, {marks.id})]


@pytest.mark.parametrize(
    ("near", "far", "expected"),
    [
        # The symptom is a stall of job 1, which runs on node1 to node4.
        ((I.GPU_FAULT, "gpu:node1/GPU-0001-0"), (I.GPU_FAULT, "gpu:node5/GPU-0005-0"), "node1/GPU-0001-0"),
        # A host that died stops its job for certain, a link between switches only may.
        ((I.DEVICE_DOWN, "device:node1"), (I.LINK_DOWN, UPLINK), "node1"),
    ],
)
def test_a_symptom_belongs_to_the_nearest_cause(
    cluster: Fabric, near: tuple[I, str], far: tuple[I, str], expected: str
) -> None:
    found = [find(cluster, K.GPU_XID, "spine4", "a"), find(cluster, K.LINK_DOWN, "spine4", "b", score=3)]
    stalled = find(cluster, K.JOB_STALLED, "job:1", at=1)
    causes = [cause(*near, "a"), cause(*far, "b")]
    claims = choose(view_of(cluster, *found, stalled), causes, [], NONE)
    assert claims[0].cause == causes[1]  # the stronger one was chosen first
    (owner,) = [claim for claim in claims if stalled.id in claim.symptoms]
    assert owner.cause.root.name == expected


def test_of_two_equally_near_causes_the_stronger_gets_the_symptom(cluster: Fabric) -> None:
    found = [find(cluster, K.GPU_XID, "node1", "a"), find(cluster, K.GPU_XID, "node2", "b", score=2)]
    stalled = find(cluster, K.JOB_STALLED, "job:1", at=1)
    causes = [cause(I.GPU_FAULT, "gpu:node1/GPU-0001-0", "a"), cause(I.GPU_FAULT, "gpu:node2/GPU-0002-0", "b")]
    claims = choose(view_of(cluster, *found, stalled), causes, [], NONE)
    assert [bool(claim.symptoms) for claim in claims] == [True, False]
    assert claims[0].cause.root.name == "node2/GPU-0002-0"


def test_an_open_incident_without_findings_absorbs_symptoms_but_explains_nothing(cluster: Fabric) -> None:
    stalled = find(cluster, K.JOB_STALLED, "job:1", at=1)
    known = OpenCause(cause(I.GPU_FAULT, "gpu:node1/GPU-0001-0"), T0, cooling=True)
    assert chosen(choose(view_of(cluster, stalled), [], [known], NONE)) == [("node1/GPU-0001-0", set(), {stalled.id})]
    assert choose(view_of(cluster), [], [known], NONE) == []


@pytest.mark.parametrize(
    ("kind", "root", "over_s", "absorbs"),
    [
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", 30, True),  # the job waited before it was over
        (I.GPU_FAULT, "gpu:node1/GPU-0001-0", 10, False),
        (I.LINK_DOWN, "link:leaf1/Ethernet0--node1/mlx5_0", 10, False),
        (I.DEVICE_DOWN, "device:node1", 10, True),  # it is back, and starts its programs
    ],
)
def test_a_job_that_begins_to_wait_when_an_incident_is_over_does_not_wait_for_it(
    cluster: Fabric, kind: I, root: str, over_s: int, absorbs: bool
) -> None:
    slowed = find(cluster, K.JOB_SLOWED, "job:1", at=20)
    known = OpenCause(cause(kind, root), T0, cooling=True, over_ns=T0 + over_s * S)
    found = choose(view_of(cluster, slowed), [], [known], NONE)
    assert [claim.symptoms for claim in found] == ([{slowed.id}] if absorbs else [])


def test_an_open_incident_that_is_proposed_again_appears_once(cluster: Fabric) -> None:
    xid, stalled = find(cluster, K.GPU_XID, "node1", "a"), find(cluster, K.JOB_STALLED, "job:1", at=1)
    fault = cause(I.GPU_FAULT, "gpu:node1/GPU-0001-0", "a")
    claims = choose(view_of(cluster, xid, stalled), [fault], [OpenCause(fault, T0, cooling=True)], NONE)
    assert chosen(claims) == [("node1/GPU-0001-0", {"a"}, {stalled.id})]


@pytest.mark.parametrize(("waited", "kinds"), [((), []), (("stalled",), [I.UNEXPLAINED])])
def test_what_nothing_explains_opens_an_incident_once_it_has_waited(
    cluster: Fabric, waited: tuple[str, ...], kinds: list[I]
) -> None:
    stalled = find(cluster, K.JOB_STALLED, "job:1", "stalled")
    claims = choose(view_of(cluster, stalled), [], [], frozenset(waited))
    assert [claim.cause.kind for claim in claims] == kinds


def test_a_symptom_far_older_than_the_cause_is_left(cluster: Fabric) -> None:
    """Three sampling intervals of 10 s are the slack."""
    xid = find(cluster, K.GPU_XID, "node1", "a", at=40)
    fault = cause(I.GPU_FAULT, "gpu:node1/GPU-0001-0", "a")
    for at, symptoms in ((9.9, 0), (10.0, 1)):
        stalled = find(cluster, K.JOB_STALLED, "job:1", at=at)
        (claim,) = choose(view_of(cluster, xid, stalled), [fault], [], NONE)
        assert len(claim.symptoms) == symptoms


def test_the_findings_of_a_claim_are_its_own_and_its_symptoms(cluster: Fabric) -> None:
    view = view_of(cluster)
    reach = view.cluster.reach(cause(I.DEVICE_DOWN, "device:node1"))
    claim = Claim(cause(I.DEVICE_DOWN, "device:node1"), T0, reach, primary={"a"}, symptoms={"b"})
    assert (claim.findings, device("node1") in claim.reach.own) == ({"a", "b"}, True)


TWO_PORTS = ("port:leaf1/Ethernet0", "port:leaf2/Ethernet4")  # towards node1 and node2, both of job 1


def two_incasts(cluster: Fabric, first_at: float, second_at: float, second_score: float) -> list[Finding]:
    return [
        find(cluster, K.QUEUE_CONGESTED, "leaf1/Ethernet0", "a", first_at),
        find(cluster, K.QUEUE_CONGESTED, "leaf2/Ethernet4", "b", second_at, second_score),
    ]


@pytest.mark.parametrize(("held", "owner"), [((), "leaf2/Ethernet4"), (("slowed",), "leaf1/Ethernet0")])
def test_a_symptom_stays_with_the_incident_that_has_it(cluster: Fabric, held: tuple[str, ...], owner: str) -> None:
    """Else one job that waits is a page for every port that is congested at some time."""
    slowed = find(cluster, K.JOB_SLOWED, "job:1", "slowed", 1)
    causes = [cause(I.INCAST, port, name) for port, name in zip(TWO_PORTS, "ab", strict=True)]
    known = OpenCause(causes[0], T0, cooling=False, symptoms=frozenset(held))
    claims = choose(view_of(cluster, slowed, *two_incasts(cluster, 0, 0, 3.0)), causes, [known], NONE)
    assert [claim.cause.root.name for claim in claims if claim.symptoms] == [owner]


def test_all_that_shows_that_a_job_waits_goes_together(cluster: Fabric) -> None:
    """It was slow and stands still by now: the incident that has the one gets the other, though it changed long ago."""
    slowed, stalled = (
        find(cluster, kind, "job:1", name, at)
        for kind, name, at in ((K.JOB_SLOWED, "slowed", 1), (K.JOB_STALLED, "stalled", 300))
    )
    causes = [cause(I.INCAST, port, name) for port, name in zip(TWO_PORTS, "ab", strict=True)]
    known = OpenCause(causes[0], T0, cooling=False, symptoms=frozenset({"slowed"}))
    claims = choose(view_of(cluster, slowed, stalled, *two_incasts(cluster, 0, 299, 3.0)), causes, [known], NONE)
    assert [(claim.cause.root.name, claim.symptoms) for claim in claims if claim.symptoms] == [
        ("leaf1/Ethernet0", {"slowed", "stalled"})
    ]


def test_a_symptom_leaves_pressure_for_what_broke_nearer_to_it(cluster: Fabric) -> None:
    slowed = find(cluster, K.JOB_SLOWED, "job:1", "slowed", 1)
    queue, xid = find(cluster, K.QUEUE_CONGESTED, "spine1/Ethernet0", "a"), find(cluster, K.GPU_XID, "node1", "b")
    pressure = cause_of(
        I.INCAST, parse_object("port:spine1/Ethernet0"), frozenset("a"), "", devices=frozenset({"leaf1", "leaf2"})
    )
    broken = cause(I.GPU_FAULT, "gpu:node1/GPU-0001-0", "b")
    known = OpenCause(pressure, T0, cooling=False, symptoms=frozenset({"slowed"}))
    claims = choose(view_of(cluster, slowed, queue), [pressure], [known], NONE)
    assert [claim.symptoms for claim in claims] == [{"slowed"}]
    claims = choose(view_of(cluster, slowed, queue, xid), [pressure, broken], [known], NONE)
    assert {claim.cause.kind: claim.symptoms for claim in claims} == {I.INCAST: set(), I.GPU_FAULT: {"slowed"}}


def test_a_symptom_of_an_incident_of_a_later_tier_is_not_taken_before_it_is_chosen(cluster: Fabric) -> None:
    clock = (Evidence("gpu_sm_clock_hertz{}", 1.2e9, 1.9e9, "Hz"),)
    slow = replace(find(cluster, K.STRAGGLER, "node1/GPU-0001-0", "a"), evidence=clock)
    slowed = find(cluster, K.JOB_SLOWED, "job:1", "slowed", 1)
    queue = find(cluster, K.QUEUE_CONGESTED, "leaf1/Ethernet0", "b")
    straggler = cause(I.STRAGGLER, "gpu:node1/GPU-0001-0", "a")
    incast = cause(I.INCAST, "port:leaf1/Ethernet0", "b", tier=Tier.HARD)
    known = OpenCause(straggler, T0, cooling=False, symptoms=frozenset({"slowed"}))
    claims = choose(view_of(cluster, slow, slowed, queue), [straggler, incast], [known], NONE)
    assert {claim.cause.kind: claim.symptoms for claim in claims} == {I.INCAST: set(), I.STRAGGLER: {"slowed"}}


def test_symptoms_are_given_to_the_same_causes_once(cluster: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiers that name no further cause, and release no symptom, change nothing for the symptoms that are left."""
    asked: list[int] = []

    def count(view: CorrelationView, claims: list[Claim], *_: object) -> None:
        asked.append(len(claims))

    monkeypatch.setattr("analytics.correlate.cover.absorb", count)
    down, left = find(cluster, K.LINK_DOWN, "leaf1/Ethernet4000", "a"), find(cluster, K.DEVIATION, "node1", "left")
    choose(view_of(cluster, down, left), [cause(I.LINK_DOWN, UPLINK, "a")], [], NONE)
    assert asked == [1]
