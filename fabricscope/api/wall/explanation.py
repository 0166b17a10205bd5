"""One incident explained: from its cause to what it costs, and what it says nothing about by itself any more."""

from collections.abc import Iterable
from dataclasses import dataclass

from fabricscope.api.instants import Instant, rfc3339
from fabricscope.api.paging_links import Links
from fabricscope.api.wall.direction import Side, worse_side
from fabricscope.api.wall.faults import describe
from fabricscope.api.wall.gpu_names import gpu_names
from fabricscope.api.wall.shown import Shown
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident
from telemetry.kinds import finding_kinds, incident_kinds
from telemetry.objects import ObjectRef

FOUND_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that the incident explains, and that is no incident of its own."""

    object: ObjectRef
    text: str
    onset: Instant
    cleared: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """What followed: a kind of finding, of how many objects, and since when the first one."""

    meaning: str
    objects: int
    onset: Instant


@dataclass(frozen=True, slots=True)
class Explanation:
    """cause: what the incident's kind means. effects: what it explains, by kind, earliest first.

    suppressed: at most 20 findings, earliest first, of ``findings``; those that the API no longer knows are missing.
    worse: of each evidence, on which side it is bad.
    gpus: name for people of each GPU that the incident names, by ``host/UUID``, where the topology knows it.
    links: where people go on from here.
    """

    cause: str
    effects: list[Effect]
    findings: int
    suppressed: list[Suppressed]
    worse: list[Side]
    gpus: dict[str, str]
    links: Links


def explain(model: Shown, incident: Incident, links: Links) -> Explanation:
    found = [model.findings[one] for one in incident.findings if one in model.findings]
    found.sort(key=lambda one: (one.onset_ns, one.object))
    return Explanation(
        cause=incident_kinds()[incident.kind].meaning,
        effects=_effects(found),
        findings=len(incident.findings),
        suppressed=[_suppressed(one) for one in found[:FOUND_SHOWN]],
        worse=[worse_side(one) for one in incident.evidence],
        gpus=_labels(model, incident, found),
        links=links,
    )


def _effects(found: Iterable[Finding]) -> list[Effect]:
    """found: by onset."""
    first: dict[str, int] = {}
    objects: dict[str, set[ObjectRef]] = {}
    for one in found:
        meaning = finding_kinds()[one.kind].meaning
        first.setdefault(meaning, one.onset_ns)
        objects.setdefault(meaning, set()).add(one.object)
    return [Effect(meaning, len(objects[meaning]), rfc3339(at_ns)) for meaning, at_ns in first.items()]


def _suppressed(one: Finding) -> Suppressed:
    return Suppressed(one.object, describe(one), rfc3339(one.onset_ns), one.state is FindingState.CLEARED)


def _labels(model: Shown, incident: Incident, found: Iterable[Finding]) -> dict[str, str]:
    named = {
        incident.root.name,
        *(entry.object.name for entry in incident.timeline),
        *(one.object.name for one in found),
    }
    said = "\n".join(evidence.series for evidence in incident.evidence)
    known = gpu_names(model).items()
    return {name: label for name, label in known if name in named or f'"{name.partition("/")[2]}"' in said}
