import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.clock import Moment
from alerts.decision.lifecycle import NotifiedState, Policy, due, notify
from alerts.notification import Action, Notification
from telemetry import objects
from telemetry.incidents import Incident, IncidentState, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

QUIET = Policy(quiet_ns=1800 * S, critical_quiet_ns=300 * S, update_quiet_ns=300 * S)
LABELS = {"incident_id": "inc-1"}


def moment(at_s: float) -> Moment:
    return Moment(T0 + int(at_s * S), T0 + int(at_s * S))


def notified_of(version: Incident, at_s: float = 10, after: NotifiedState | None = None) -> NotifiedState:
    action = decided(after, version, at_s)
    assert action is not None
    return notify(after, version, action, moment(at_s), LABELS, ("am",))[0]


def decided(notified: NotifiedState | None, version: Incident, at_s: float) -> Action | None:
    return decided_at(notified, version, T0 + int(at_s * S))


def decided_at(notified: NotifiedState | None, version: Incident, now_ns: int) -> Action | None:
    coming = due(notified, version, QUIET)
    return coming[0] if coming is not None and coming[1] <= now_ns else None


def test_a_firing_incident_is_sent_once():
    assert decided(None, incident(), 10) is Action.FIRE
    assert decided(notified_of(incident()), incident(at_s=20, gpu_seconds=9000), 20) is None


def test_pending_and_info_are_not_sent():
    assert decided(None, incident(state=IncidentState.PENDING), 10) is None
    assert decided(None, incident(severity=Severity.INFO), 10) is None


def test_what_was_never_sent_is_never_resolved():
    assert decided(None, resolved(60), 60) is None


def test_a_page_is_resolved_once_and_also_when_the_incident_became_harmless():
    notified = notified_of(incident())
    assert decided(notified, resolved(60, severity=Severity.INFO), 60) is Action.RESOLVE
    assert decided(notified_of(resolved(60), 60, notified), resolved(61), 61) is None


def test_only_evidence_resolves_so_pending_again_leaves_the_page_open():
    assert decided(notified_of(incident()), incident(state=IncidentState.PENDING, at_s=60), 60) is None


def test_worse_is_sent_at_once_and_milder_is_not():
    notified = notified_of(incident())
    assert decided(notified, incident(severity=Severity.CRITICAL), 11) is Action.UPDATE
    assert decided(notified_of(incident(severity=Severity.CRITICAL)), incident(), 4000) is None


def test_another_root_is_sent_but_not_at_every_change_of_mind():
    notified = notified_of(incident())
    moved = incident(root=objects.port("leaf2", "Ethernet0"))
    assert decided(notified, moved, 10 + 299) is None
    assert decided(notified, moved, 10 + 300) is Action.UPDATE


def test_a_flapping_incident_pages_once_in_the_quiet_time():
    notified = notified_of(resolved(60), 60, notified_of(incident()))
    assert decided(notified, incident(at_s=70), 70) is None
    assert decided(notified, incident(at_s=70), 10 + 1799) is None
    assert decided(notified, incident(at_s=70), 10 + 1800) is Action.FIRE


def test_a_flap_that_comes_back_worse_pages_at_once_but_only_once():
    notified = notified_of(resolved(60), 60, notified_of(incident()))
    worse = incident(severity=Severity.CRITICAL, at_s=70)
    assert decided(notified, worse, 70) is Action.FIRE
    again = notified_of(resolved(80), 80, notified_of(worse, 70, notified))
    assert decided(again, incident(severity=Severity.CRITICAL, at_s=90), 90) is None


def test_a_critical_incident_that_people_believe_to_be_over_does_not_wait_for_the_quiet_time():
    notified = notified_of(resolved(60), 60, notified_of(incident(severity=Severity.CRITICAL)))
    again = incident(severity=Severity.CRITICAL, at_s=70)
    assert decided(notified, again, 10 + 299) is None
    assert decided(notified, again, 10 + 300) is Action.FIRE


def test_the_resolve_carries_the_labels_of_the_page():
    notified = notified_of(incident())
    _, notification = notify(notified, resolved(60), Action.RESOLVE, moment(60), {"other": "labels"}, ())
    assert notification.labels == LABELS
    assert notification.key == "inc-1:2"


def test_an_update_replaces_the_alert_whose_labels_changed():
    notified = notified_of(incident())
    after, notification = notify(
        notified, incident(), Action.UPDATE, moment(400), {"severity": "critical"}, ("webhook",)
    )
    assert notification.replaces == LABELS
    assert after.receivers == ("am", "webhook"), "the one notified first must get the end too"
    assert after.paged_ns == notified.paged_ns


STATES = st.sampled_from([IncidentState.PENDING, IncidentState.FIRING, IncidentState.RESOLVED])
HISTORY = st.lists(st.tuples(st.integers(1, 900), STATES, st.sampled_from(list(Severity))), max_size=60)


@settings(deadline=None)
@given(HISTORY)
def test_whatever_happens_every_page_is_followed_by_one_resolve_and_pages_are_rare(history):
    notified: NotifiedState | None = None
    now_ns, sent = T0, list[Notification]()
    for seconds, state, severity in history:
        now_ns += seconds * S
        version = incident(state=state, severity=severity, updated_ns=now_ns, resolved_ns=now_ns)
        if action := decided_at(notified, version, now_ns):
            notified, notification = notify(notified, version, action, Moment(now_ns, now_ns), LABELS, ())
            sent.append(notification)
    opened = False
    for each in sent:
        assert opened is (each.action is not Action.FIRE)
        opened = each.action is not Action.RESOLVE
    assert [each.sequence for each in sent] == list(range(1, len(sent) + 1))
    pages = [each for each in sent if each.action is Action.FIRE]
    for severity, quiet_ns in ((Severity.WARNING, QUIET.quiet_ns), (Severity.CRITICAL, QUIET.critical_quiet_ns)):
        times = [each.at_ns for each in pages if each.incident.severity is severity]
        assert all(later - earlier >= quiet_ns for earlier, later in itertools.pairwise(times))


def test_sequences_leap_when_lower_ones_may_have_been_forgotten():
    known = notified_of(incident())
    worse = incident(at_s=20, severity=Severity.CRITICAL)
    after, note = notify(known, worse, Action.UPDATE, moment(20), LABELS, ("am",), sequence_min=100)
    assert note.key == "inc-1:100"
    assert notify(after, worse, Action.UPDATE, moment(30), LABELS, ("am",), sequence_min=100)[1].key == "inc-1:101"
