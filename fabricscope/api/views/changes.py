"""Changes of the cluster as the API answers them."""

from dataclasses import fields

from pydantic import Field

from fabricscope.api.instants import Instant, MaybeInstant
from fabricscope.api.views.view import View
from telemetry import changes
from telemetry.changes import ChangeKind


class Change(View):
    """A change, past or planned, in event time. ends: null for what happens at a moment."""

    id: str = Field(examples=["maintenance/2026-01-31T22:00:00Z/0f3c2a9b1d7e"])
    kind: ChangeKind
    objects: tuple[str, ...] = Field(examples=[["device:node1", "rack:r2"]])
    starts: Instant
    ends: MaybeInstant
    author: str = Field(examples=["carol"])
    summary: str = Field(examples=["new PSUs"])

    @classmethod
    def of(cls, change: changes.Change) -> "Change":
        record = {field.name: getattr(change, field.name) for field in fields(change)}
        return cls.model_validate(record | {"objects": tuple(map(str, change.objects))})
