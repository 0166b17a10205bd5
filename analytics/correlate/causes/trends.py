"""Forecasts: what will be full or worn out in some days. They explain nothing that happens now."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Evidence, Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.limits import PRE_FEC_BER_MAX, PRE_FEC_MARGIN
from telemetry.objects import ObjectRef

_FEC_MARGIN = "fec_margin"
_KINDS = {FindingKind.CAPACITY: IncidentKind.CAPACITY, FindingKind.WEAR: IncidentKind.WEAR}


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a kind and object; both ends of a link are one object."""
    for kind, incident in _KINDS.items():
        objects: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
        for finding in view.of(kind):
            objects[view.graph.link_of.get(finding.object, finding.object)].append(finding)
        for root in sorted(objects):
            found = frozenset(finding.id for finding in objects[root])
            errors = [each for each in objects[root] if each.detector == _FEC_MARGIN]
            risen = _risen(errors) if len(errors) == len(found) else None
            yield cause_of(incident, root, found, _reason(root, errors, found, risen), headline=_headline(root, risen))


def _risen(errors: Iterable[Finding]) -> Evidence | None:
    """The highest ratio of errors before correction, where it rose and leaves reserve."""
    shown = [evidence for finding in errors for evidence in finding.evidence[:1] if evidence.normal is not None]
    highest = max(shown, key=lambda evidence: (evidence.value, evidence.series), default=None)
    return highest if highest and highest.value * PRE_FEC_MARGIN < PRE_FEC_BER_MAX else None


def _headline(root: ObjectRef, risen: Evidence | None) -> str:
    return f"bit errors of {root.name} rose to {risen.value:.1e}, all corrected" if risen else ""


def _reason(root: ObjectRef, errors: Sequence[Finding], found: Collection[str], risen: Evidence | None) -> str:
    if len(errors) < len(found):
        return f"{root.name} will reach its limit if it goes on like this"
    if risen:
        return (
            f"{root.name} has {risen.value:.1e} bit errors before correction, usually {risen.normal:.1e}; none is left"
        )
    return f"error correction of {root.name} has little reserve left; nothing is lost so far"
