"""Why an incident names its cause: the evidence for it, why it is not the next two hypotheses, and what is missing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analytics.correlate.absorb import is_near
from analytics.correlate.cause import PAUSES, SYMPTOMS, Cause
from analytics.correlate.claim import Claim
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import NS_PER_S
from analytics.correlate.cover import gain
from analytics.correlate.finding_index import FindingIndex
from analytics.correlate.storage_clients import Clients, waiting_clients
from analytics.correlate.symptoms import Near, Objection, effect_of, why_not
from analytics.correlate.texts import phrases
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Effect, effects, finding_kinds, in_words, incident_kinds
from telemetry.objects import ObjectKind, ObjectRef

BECAUSE_MAX = 4
AGAINST_MAX = 2
MISSING_MAX = 3
COMPARED_MAX = 16  # findings of an incident that a rival is asked for: one that it does not explain is enough


class Sign(NamedTuple):
    """A finding that such an incident would have, and the cause that explains it, None where none does yet."""

    object: ObjectRef
    kind: FindingKind
    of: tuple[IncidentKind, ObjectRef] | None

    def in_words(self, graph: Graph) -> str:
        return f"{phrases.short(self.object, graph)} {finding_kinds()[self.kind].text}"


class Rivals:
    """The chosen causes of a step, by kind, in the order of choice. index: the findings that they are of."""

    def __init__(self, claims: Sequence[Claim], index: FindingIndex) -> None:
        self._of: dict[IncidentKind, list[Claim]] = {}
        for claim in claims:
            self._of.setdefault(claim.cause.kind, []).append(claim)
        others = (kind for kind, row in incident_kinds().items() if row.denied_by and kind not in self._of)
        self._signs = {kind: signs for kind in others if (signs := _signs(kind, claims, index))}

    def other_than(self, before: "Rivals") -> frozenset[IncidentKind]:
        """The kinds of which the strongest cause differs in what an objection to it rests on, or without a cause their
        signs."""
        kinds = self._of.keys() | before._of.keys() | self._signs.keys() | before._signs.keys()
        return frozenset(kind for kind in kinds if self._strongest(kind) != before._strongest(kind))

    def _strongest(self, kind: IncidentKind) -> tuple[object, ...]:
        of = self._of.get(kind)
        return (of[0].cause, of[0].onset_ns, of[0].reach, of[0].kinds) if of else self.signs(kind)

    def signs(self, kind: IncidentKind) -> tuple[Sign, ...]:
        """Of a kind of which there is no cause: what would show it all the same, about two objects at most."""
        return self._signs.get(kind, ())

    def like(self, claim: Claim) -> Iterator[tuple[IncidentKind, Claim | None]]:
        """What resembles a claim: of each such kind the strongest other one, None where there is none."""
        for kind in incident_kinds()[claim.cause.kind].resembles:
            yield kind, next(iter(self._of.get(kind, ())), None)


def because(view: CorrelationView, claim: Claim) -> tuple[str, ...]:
    """The reason, unless its strongest evidence begins with the same words; that; and how much else it explains."""
    primary = sorted((view.by_id[found] for found in claim.primary), key=lambda each: (-each.score, each.id))
    first = [phrases.symptom(each, view.graph) for each in primary[:2]]
    shown: dict[str, int] = {}
    for found in sorted(claim.symptoms):
        if (effect := effect_of(view.by_id[found])) is not Effect.OTHER:
            shown[effect] = shown.get(effect, 0) + 1
    predicted = ", ".join(f"{effect.replace('_', ' ')} ({shown[effect]})" for effect in sorted(shown))
    rest = [f"it predicts what else is seen: {predicted}"] if predicted else []
    reason = [] if any(text.startswith(claim.cause.reason) for text in first) else [claim.cause.reason]
    return (*reason, *first, *rest)[:BECAUSE_MAX]


def compare(
    view: CorrelationView, claim: Claim, others: Sequence[Cause], rivals: Rivals, *, order_known: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why it is none of the next two hypotheses, which have some of the same evidence or else resemble it; and what is
    not known and would make it surer.

    others: causes that were not chosen and rest on some of the same findings.
    """
    members, alike = _members(view, claim), list[str]()
    found = [_not_chosen(view, members, other) for other in _best(view, claim, others)]
    kinds = {other.kind for other in others}
    for kind, rival in rivals.like(claim):
        if len(found) >= AGAINST_MAX:
            break
        if kind in kinds:
            continue
        if rival is None:
            found += _no_incident(view, members, kind, rivals.signs(kind))
        elif text := _other_incident(view, members, rival):
            found.append(text)
        else:
            name = phrases.short(rival.cause.root, view.graph)
            alike.append(f"what separates it from {in_words(kind)} at {name}, which would explain all of this")
    missing = (*alike, *_missing(view, claim, order_known))
    return tuple(found[:AGAINST_MAX]), missing[:MISSING_MAX]


def _best(view: CorrelationView, claim: Claim, others: Sequence[Cause]) -> list[Cause]:
    if not others:
        return []
    gains = {other.key: gain(view, other, claim.findings) for other in others}
    causes = [other for other in others if incident_kinds()[other.kind].predicts]  # a forecast is none of what is now
    return distinct(claim, sorted(causes, key=lambda other: (-gains[other.key], other.key)))[:AGAINST_MAX]


def distinct(claim: Claim, ranked: Iterable[Cause]) -> list[Cause]:
    """Without further ones of a kind that explain a part of the claim's own evidence: that its parts failed one by one
    is one hypothesis, and the likeliest of them stands for it."""
    found: dict[object, Cause] = {}
    for other in ranked:
        part = other.primary <= claim.primary
        found.setdefault(other.kind if part else other.key, other)
    return list(found.values())


def _not_chosen(view: CorrelationView, members: Sequence[Finding], other: Cause) -> str:
    name = f"not {in_words(other.kind)} at {phrases.short(other.root, view.graph)}"
    reach = view.cluster.reach(other)
    every_s = view.config.slowest_s(view.by_id[each].cadence_s for each in other.primary if each in view.by_id)
    rival = Claim(other, view.onset(other.primary), reach, primary=set(other.primary), cadence_s=every_s)
    for each in members:
        if each.id not in other.primary and (objection := _objection(view, rival, each)):
            return f"{name}: {objection}"
    return f"{name}: it explains no more than this, and is less likely"


def _other_incident(view: CorrelationView, members: Sequence[Finding], rival: Claim) -> str:
    """'' where the rival would explain all of it; then nothing that is known separates them."""
    for finding in members:
        if objection := _objection(view, rival, finding):
            return f"not {in_words(rival.cause.kind)} at {phrases.short(rival.cause.root, view.graph)}: {objection}"
    return ""


def _no_incident(
    view: CorrelationView, members: Sequence[Finding], kind: IncidentKind, signs: Sequence[Sign]
) -> Iterator[str]:
    """Against a kind of which there is no incident: that nothing shows it, or what explains the findings that would."""
    row, name = incident_kinds()[kind], in_words(kind)
    own = next((each for each in members if each.kind in row.denied_by), None)
    if own and (rest := next((each for each in members if each.object != own.object), None)):
        yield f"not {name} at {phrases.short(own.object, view.graph)}: it does not explain that {_shown(view, rest)}"
    elif sign := next((each for each in signs if own is None or each.object != own.object), None):
        yield f"not {name}: {sign.in_words(view.graph)}{_because_of(sign, view.graph)}"
    elif own:
        yield f"not {name}: nothing but {Sign(own.object, own.kind, None).in_words(view.graph)}"
    elif row.absent:
        yield f"not {name}: {row.absent}"


def _because_of(sign: Sign, graph: Graph) -> str:
    if sign.of is None:
        return ", which nothing explains yet"
    kind, root = sign.of
    return f" because of {in_words(kind)} at {phrases.short(root, graph)}"


def _signs(kind: IncidentKind, claims: Sequence[Claim], index: FindingIndex) -> tuple[Sign, ...]:
    first: dict[ObjectRef, Finding] = {}
    for each in (found for denied in sorted(incident_kinds()[kind].denied_by) for found in index.of(denied)):
        first.setdefault(each.object, each)
        if len(first) > 1:
            break
    return tuple(Sign(each.object, each.kind, _explained_by(each, claims)) for each in first.values())


def _explained_by(finding: Finding, claims: Sequence[Claim]) -> tuple[IncidentKind, ObjectRef] | None:
    has = (each.cause for each in claims if finding.id in each.primary or finding.id in each.symptoms)
    return next(((cause.kind, cause.root) for cause in has), None)


def _members(view: CorrelationView, claim: Claim) -> list[Finding]:
    """Its symptoms, then its own evidence, each by onset."""
    found = [view.by_id[each] for each in (*claim.symptoms, *claim.primary)]
    if len(found) == 1:
        return found
    found.sort(key=lambda each: (each.id in claim.primary, each.onset_ns, each.id))
    return found[:COMPARED_MAX]


def _objection(view: CorrelationView, rival: Claim, finding: Finding) -> str:
    """Why a rival does not explain a finding, '' where it does."""
    near = _nearest(view, rival, finding)
    if near is not None:
        about = near, rival.onset_ns, finding
        objection = why_not(view.config, rival.cause, *about, evidence=rival.kinds, cadence_s=rival.cadence_s)
    else:
        objection = Objection.PLACE
    name = phrases.short(finding.object, view.graph)
    match objection:
        case None:
            return ""
        case Objection.PLACE:
            return f"it does not reach {name}"
        case Objection.TIME:
            apart = round(abs(rival.onset_ns - finding.onset_ns) / NS_PER_S)
            return f"it began {apart} s {'after' if rival.onset_ns > finding.onset_ns else 'before'} {name} showed this"
        case _:
            return f"it does not explain that {_shown(view, finding)}"


def _shown(view: CorrelationView, finding: Finding) -> str:
    if finding.kind not in SYMPTOMS:
        return phrases.symptom(finding, view.graph)
    return effects()[effect_of(finding)].meaning.replace("{object}", phrases.short(finding.object, view.graph))


def _nearest(view: CorrelationView, rival: Claim, finding: Finding) -> Near | None:
    reach, jobs = rival.reach, view.jobs.of(finding.object)
    if finding.object in reach.own:
        return Near.OWN
    if not reach.certain.isdisjoint(jobs):
        return Near.CERTAIN_JOB
    if not reach.possible.isdisjoint(jobs):
        return Near.POSSIBLE_JOB
    if is_near(view, reach, finding):
        return Near.DEVICE
    disturbs = incident_kinds()[rival.cause.kind].disturbs_fabric or reach.possible or reach.certain
    return Near.FABRIC if disturbs and view.graph.is_switch(finding.object.device) else None


def _missing(view: CorrelationView, claim: Claim, order_known: bool) -> Iterator[str]:
    root = claim.cause.root
    if root.kind is ObjectKind.FILESYSTEM and all(each.server_share is None for each in _of(view, root)):
        yield f"the server's own times of {root.name}: without them it cannot be told from its network"
    if view.silent and claim.cause.kind is not IncidentKind.TELEMETRY_LOST:
        quiet = sorted(view.silent & (claim.reach.devices | {ref.device for ref in claim.reach.own}) - {root.name})
        if quiet:
            yield f"{' and '.join(quiet[:2])}{f' and {len(quiet) - 2} more' if len(quiet) > 2 else ''} not heard of"
    ends = view.graph.ports(root) if root.kind is ObjectKind.LINK else ()
    mute = [end for end in ends if not _speaks(view, claim, end)]
    if len(mute) == 1 and len(ends) == 2:
        yield f"{mute[0].name}, the other end, shows nothing of it"
    pauses = [view.by_id[found] for found in sorted(claim.primary) if view.by_id[found].kind in PAUSES]
    if pauses and not any(one.unit == "ratio" for each in pauses for one in each.evidence):
        yield "for how long ports were paused: frames alone are counted"
    if not view.jobs.running and not incident_kinds()[claim.cause.kind].pages_without_waiting:
        yield "which jobs run, and so who waits"
    if not order_known:
        yield f"what came first: readings are {_apart_s(view, claim):.0f} s apart"


def _apart_s(view: CorrelationView, claim: Claim) -> float:
    """Seconds between two readings of the evidence that comes most rarely."""
    slowest = view.config.slowest_s(view.by_id[found].cadence_s for found in claim.findings)
    return view.config.intervals_ns(1.0, slowest) / NS_PER_S


def _of(view: CorrelationView, filesystem: ObjectRef) -> Iterator[Clients]:
    """The clients of a file system that wait."""
    return (clients for clients in waiting_clients(view) if clients.filesystem == filesystem.name)


def _speaks(view: CorrelationView, claim: Claim, end: ObjectRef) -> bool:
    return any(finding.id in claim.primary for finding in view.about(end))
