"""Which open incident a chosen cause continues, and ids that depend on the telemetry alone."""

from dataclasses import replace

import pytest

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.cluster import Cluster
from analytics.correlate.lifecycle import Life
from analytics.correlate.tracks import Track, digest, incident_id, match, with_remains
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState
from telemetry.objects import device, parse_object
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

PENDING, FIRING = IncidentState.PENDING, IncidentState.FIRING
PORT = "port:leaf1/Ethernet0"
UPLINK = "link:leaf1/Ethernet4000--spine1/Ethernet0"


@pytest.fixture
def view(cluster: Fabric) -> CorrelationView:
    """Four active findings, a to d."""
    known = Cluster()
    known.update(cluster.topology)
    found = [cluster.find(K.LINK_DOWN, cluster.uplink(leaf, 1)) for leaf in range(1, 5)]
    named = [replace(one, id=name) for one, name in zip(found, "abcd", strict=True)]
    return CorrelationView(named, known)


def cause(kind: I, root: str, *names: str) -> Cause:
    return cause_of(kind, parse_object(root), frozenset(names), "")


def claim(view: CorrelationView, kind: I, root: str, *names: str) -> Claim:
    chosen = cause(kind, root, *names)
    return Claim(chosen, T0, view.cluster.reach(chosen), primary=set(names))


def track(kind: I, root: str, *names: str, opened_s: int = 0, state: IncidentState = FIRING) -> Track:
    known = Track(cause(kind, root, *names), Life(state, T0 + opened_s * S), T0)
    known.primary = set(names)
    return known


def test_a_claim_continues_the_track_of_its_own_cause(view: CorrelationView) -> None:
    known, other = track(I.LINK_DOWN, UPLINK, "a"), track(I.DEVICE_DOWN, "device:leaf2", "b")
    claims = [claim(view, I.DEVICE_DOWN, "device:leaf2", "a", "b"), claim(view, I.LINK_DOWN, UPLINK, "c")]
    assert match(view, claims, [known, other]).continues == (other, known)


def test_of_two_tracks_with_one_root_the_older_one_goes_on(view: CorrelationView) -> None:
    paged, later = track(I.SLOW_RECEIVER, PORT, "a"), track(I.INCAST, PORT, "b", opened_s=40)
    claims = [claim(view, I.INCAST, PORT, "a", "b")]
    matching = match(view, claims, [paged, later])
    assert matching.continues == (paged,)
    assert matching.merged == ((later, 0),)


def test_a_claim_without_a_track_is_new(view: CorrelationView) -> None:
    found = match(view, [claim(view, I.LINK_DOWN, UPLINK, "a")], [])
    assert (found.continues, found.merged) == ((None,), ())


@pytest.mark.parametrize(
    ("explained", "continued"),
    [("abcd", True), ("abc", True), ("ab", False), ("", False)],  # more than half of what is active
)
def test_a_claim_that_explains_most_of_the_evidence_continues_the_track(
    view: CorrelationView, explained: str, continued: bool
) -> None:
    known = track(I.LINK_DOWN, UPLINK, *"abcd")
    (found,) = match(view, [claim(view, I.DEVICE_DOWN, "device:leaf7", *explained)], [known]).continues
    assert found is (known if continued else None)


def test_evidence_that_has_cleared_does_not_count(view: CorrelationView) -> None:
    known = track(I.LINK_DOWN, UPLINK, "a", "gone", "gone too")
    assert match(view, [claim(view, I.DEVICE_DOWN, "device:leaf7", "a")], [known]).continues == (known,)


def test_of_several_tracks_the_oldest_that_fires_continues_and_the_others_merge(view: CorrelationView) -> None:
    newer = track(I.LINK_DOWN, "link:a/1--b/1", "a", opened_s=2)
    old = track(I.LINK_DOWN, "link:a/2--b/2", "b", opened_s=1)
    pending = track(I.LINK_DOWN, "link:a/3--b/3", "c", state=PENDING)
    found = match(view, [claim(view, I.DEVICE_DOWN, "device:spine1", *"abcd")], [pending, newer, old])
    assert found.continues == (old,)
    assert found.merged == ((newer, 0), (pending, 0))


def test_the_first_of_two_claims_with_equal_shares_continues(view: CorrelationView) -> None:
    known = track(I.LINK_DOWN, UPLINK, "a")
    claims = [claim(view, I.DEVICE_DOWN, f"device:leaf{n}", "a") for n in (7, 8)]
    assert match(view, claims, [known]).continues == (known, None)


@pytest.mark.parametrize(
    ("kind", "root", "continued"),
    [
        (I.LINK_FLAPPING, UPLINK, True),  # the same root
        (I.DEVICE_DOWN, "device:spine1", True),  # a device at its end
        (I.DEVICE_DOWN, "device:spine2", False),
        (I.UNEXPLAINED, "device:spine1", False),  # no cause
    ],
)
def test_a_track_whose_evidence_has_cleared_continues_at_its_root_or_device(
    view: CorrelationView, kind: I, root: str, continued: bool
) -> None:
    known = track(I.LINK_DOWN, UPLINK, "gone")
    (found,) = match(view, [claim(view, kind, root, "a")], [known]).continues
    assert found is (known if continued else None)


def test_a_link_that_is_still_down_is_not_merged_into_another_fault_of_its_device(view: CorrelationView) -> None:
    known = track(I.LINK_DOWN, UPLINK, "a")
    assert match(view, [claim(view, I.DEVICE_DOWN, "device:spine1", "b")], [known]).continues == (None,)


def test_an_id_is_a_hash_of_kind_root_and_onset() -> None:
    """The first 16 hex digits of ``printf 'link_down|device:leaf1|5' | sha256sum``."""
    assert incident_id(I.LINK_DOWN, device("leaf1"), 5) == "11f534caf372ccb3"
    others = {
        incident_id(I.DEVICE_DOWN, device("leaf1"), 5),
        incident_id(I.LINK_DOWN, device("leaf2"), 5),
        incident_id(I.LINK_DOWN, device("leaf1"), 6),
    }
    assert len(others | {incident_id(I.LINK_DOWN, device("leaf1"), 5)}) == 4


def test_an_id_that_is_in_use_is_not_given_again() -> None:
    first = incident_id(I.LINK_DOWN, device("leaf1"), 5)
    second = incident_id(I.LINK_DOWN, device("leaf1"), 5, [first])
    third = incident_id(I.LINK_DOWN, device("leaf1"), 5, [first, second])
    assert len({first, second, third}) == 3
    assert first == incident_id(I.LINK_DOWN, device("leaf1"), 5, ["another"])


@pytest.mark.parametrize(
    ("kind", "root", "already", "expected"),
    [
        (I.DEVICE_DOWN, "device:leaf1", {}, {"1": 0.5}),
        (I.INCAST, "port:leaf1/Ethernet0", {}, {}),  # nobody has waited for it
        (I.INCAST, "port:leaf1/Ethernet0", {"2": 0.3}, {"1": 0.5, "2": 0.3}),
    ],
)
def test_a_job_that_waited_for_a_merged_incident_waits_for_pressure_only_if_a_job_did_already(
    kind: I, root: str, already: dict[str, float], expected: dict[str, float]
) -> None:
    into, merged = track(kind, root), track(I.SLOW_RECEIVER, "port:leaf1/Ethernet4")
    into.job_impact, merged.job_impact = already, {"1": 0.5}
    merged.gpu_seconds, merged.cost_until_ns = 40.0, {"1": T0 + S}
    into.take_over_impact(merged)
    assert into.job_impact == expected
    assert (into.gpu_seconds, into.cost_until_ns) == ((40.0, {"1": T0 + S}) if expected else (0.0, {}))


@pytest.mark.parametrize("condensed", [False, True])
def test_a_track_knows_what_was_published_last_by_its_content_or_its_digest(condensed: bool) -> None:
    track = Track(cause(I.LINK_DOWN, UPLINK, "a"), Life(FIRING, T0), T0)
    assert not track.was_published(("link down", 1))
    track.published_digest = digest(("link down", 1)) if condensed else ("link down", 1)
    assert track.was_published(("link down", 1))
    assert not track.was_published(("link down", 2))


def test_a_snapshot_has_the_digest_of_what_was_published_last(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.LINK_DOWN, PORT), ticks=3)
    (track,) = run.correlator.state().head["tracks"]
    assert len(track["published_digest"]) == 64


def test_what_is_left_of_an_incident_opens_no_other_one_at_its_root(view: CorrelationView) -> None:
    paged = track(I.SLOW_RECEIVER, PORT, "a", "b", "c")
    left = [claim(view, I.INCAST, PORT, "b", "c"), claim(view, I.SLOW_RECEIVER, PORT, "a")]
    (only,) = with_remains(left, [paged])
    assert (only.cause.kind, only.primary, only.symptoms) == (I.SLOW_RECEIVER, {"a", "b", "c"}, set())


@pytest.mark.parametrize("state", [PENDING, FIRING])
def test_what_is_new_at_the_root_of_an_incident_opens_another_one(view: CorrelationView, state: IncidentState) -> None:
    paged = track(I.SLOW_RECEIVER, PORT, "a", "b", state=state)
    new = [claim(view, I.INCAST, PORT, "b", "c"), claim(view, I.SLOW_RECEIVER, PORT, "a")]
    assert with_remains(new, [paged]) == new


def test_what_is_left_of_an_incident_continues_it_where_nothing_else_does(view: CorrelationView) -> None:
    paged = track(I.SLOW_RECEIVER, PORT, "a", "b")
    left = [claim(view, I.INCAST, PORT, "b")]
    assert with_remains(left, [paged]) == left
    assert match(view, left, [paged]).continues == (paged,)
