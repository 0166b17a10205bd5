"""Settings of the heartbeat."""

from typing import Literal

from pydantic import Field

from alerts.receivers.config import HttpConfig


class HeartbeatConfig(HttpConfig):
    """A service that pages when it is not asked any more: healthchecks.io, Dead Man's Snitch, and their like."""

    method: Literal["GET", "POST"] = Field(default="GET", description="What the service expects; POST has no body.")
    interval_s: float = Field(default=60.0, ge=1, le=3600, description="Between two heartbeats while all is well.")
