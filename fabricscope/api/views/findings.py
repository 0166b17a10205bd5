"""Findings as the API answers them."""

from pydantic import Field

from fabricscope.api.instants import Instant, MaybeInstant
from fabricscope.api.views.incidents import EVIDENCE, PORT
from fabricscope.api.views.view import View
from telemetry.findings import Evidence, FindingKind, FindingState
from telemetry.objects import ObjectRef


class Finding(View):
    """One detector's claim about one object, as of ``observed``. The id stays the same from onset to cleared.

    score: how far from normal, 1.0 is the detector's own limit. evidence: strongest first, at most five.
    cadence_s: usual seconds between two new values of that evidence, 0 where it is not known.
    since_first_seen: it was so when telemetry of the object began.
    unloaded_since: since when its port carries too little to show whether it goes on; null while it carries enough.
    """

    id: str = Field(examples=["pfc_pause_received/port:leaf1/Ethernet4/1769896800"])
    kind: FindingKind
    object: ObjectRef = Field(examples=[PORT])
    detector: str = Field(examples=["pfc_pause"])
    state: FindingState
    onset: Instant
    observed: Instant
    score: float = Field(examples=[12.2])
    confidence: float = Field(examples=[0.9])
    evidence: tuple[Evidence, ...] = Field(examples=[[EVIDENCE]])
    cadence_s: float = Field(examples=[10.0])
    since_first_seen: bool
    unloaded_since: MaybeInstant = Field(examples=[None])
