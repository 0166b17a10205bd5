"""How a track goes on: with the cause that is chosen now, without findings that another one explains, or in another."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from analytics.correlate import cost
from analytics.correlate.cause import Cause
from analytics.correlate.claim import Claim
from analytics.correlate.lifecycle import Life
from analytics.correlate.texts import phrases
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.incidents import IncidentState
from telemetry.kinds import HoldPolicy

_HOLDS = {policy: place for place, policy in enumerate(HoldPolicy)}


def follow(track: Track, claim: Claim, now_ns: int) -> None:
    """Makes a track continue with a claim: its cause may now be a better one, its id stays."""
    if track.id and track.key != claim.cause.key:
        was = f"{track.cause.kind} {phrases.short(track.cause.root)}"
        track.note(now_ns, claim.cause.root, f"cause revised (was {was}): {claim.cause.reason}")
    if track.key != claim.cause.key:
        track.explained_max = 0
        if not track.id:
            track.forget_impact()
    track.onset_ns = min(track.onset_ns, claim.onset_ns) if track.id else claim.onset_ns
    track.cause = _as_known(track, claim.cause) if track.id else claim.cause
    track.primary, track.symptoms = set(claim.primary), set(claim.symptoms)
    if track.primary:
        track.unseen_since_ns = 0


def _as_known(track: Track, cause: Cause) -> Cause:
    """The cause, with what it took away at most: devices that come back one after the other went away together. And
    with its longest hold: of the NICs of a busy host one pauses for longer than the others. What is left of it when it
    is nearly over does not make it harmless."""
    before = track.cause
    if track.key != cause.key:
        return cause
    if cause.gone < before.gone:
        cause = replace(cause, gone=before.gone, subject=before.subject, action=before.action, reason=before.reason)
    if cause.links < before.links:
        cause = replace(cause, links=before.links, headline=before.headline, action=before.action, reason=before.reason)
    if cause.harmless and not before.harmless:
        cause = replace(cause, harmless=False, headline=before.headline, action=before.action, reason=before.reason)
    if _HOLDS[cause.wait_hold] < _HOLDS[before.wait_hold]:
        cause = replace(cause, wait_hold=before.wait_hold)
    return cause


def hand_over(view: CorrelationView, lost: Mapping[str, Track], claims: Iterable[Claim]) -> None:
    """What another cause explains by now is no finding of the incident that had it: each has its own symptoms, and
    costs what these show."""
    for found in sorted(lost.keys() & {found for claim in claims for found in claim.findings}) if lost else ():
        lost[found].members.pop(found, None)
        if found in view.by_id:
            cost.give_back(view, lost[found], view.by_id[found])


def merge(track: Track, into: Track, now_ns: int) -> None:
    """Closes a track whose evidence another one explains."""
    track.life = Life(IncidentState.RESOLVED, track.life.opened_ns, track.life.fired_ns, now_ns)
    track.note(now_ns, into.cause.root, f"merged into {into.id or into.cause.kind}: one cause explains both")
    into.take_over_impact(track)
    for found, onset in sorted(track.members.items()):
        into.members.setdefault(found, onset)
