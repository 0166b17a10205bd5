"""Replays as the API answers them."""

from enum import StrEnum

from pydantic import Field

from fabricscope.api.instants import Instant, MaybeInstant
from fabricscope.api.views.view import View


class ReplayState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Replay(View):
    """One recording that runs, or ran, again. Times by the wall clock; ended: null while it runs.

    incidents: how many it found, 0 until it is done; ``GET /api/v1/replays/{replay_id}/incidents`` lists them.
    error: why it failed, in words.
    """

    id: str = Field(examples=["5f0c9a1e5f0c9a1e"])
    recording: str = Field(examples=["incident-4711"])
    state: ReplayState
    started: Instant
    ended: MaybeInstant
    incidents: int = Field(examples=[1])
    error: str = Field(examples=[""])
