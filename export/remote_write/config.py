"""Settings of remote write."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.renamed import accept_renamed
from common.secrets import BasicAuth
from common.tls import TlsConfig

_LABEL = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
# the protocol owns these; a user's value would break it or leak past the secret files
_OWN_HEADERS = frozenset(
    {
        *("authorization", "content-encoding", "content-type", "content-length", "host", "user-agent"),
        *("x-prometheus-remote-write-version", "x-fabricscope-owner", "x-fabricscope-owner-epoch"),
    }
)


class RemoteWriteConfig(BaseModel):
    """One receiver of Prometheus remote write (Prometheus, VictoriaMetrics, Mimir, Thanos, …)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    url: str = Field(pattern=r"^https?://", repr=False, description="Address of the receiver, e.g. …/api/v1/write.")
    name: str = Field(default="default", pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="Name in logs and metrics.")
    protocol: Literal["auto", "1.0", "2.0"] = Field(
        default="auto", description="Version of remote write; auto: 2.0, and 1.0 where the receiver does not know it."
    )
    not_let_in: Literal["wait", "drop"] = Field(
        default="wait",
        description="What becomes of samples while the receiver answers 401, 403, 404 or 415: `drop` is what the "
        "specification asks of a sender.",
    )
    folder: Path = Field(default=Path("data/remote_write"), description="Where the position on the bus is kept.")
    basic_auth: BasicAuth | None = Field(default=None, description="Basic authentication.")
    bearer_token_file: Path | None = Field(default=None, description="File with a token for Authorization: Bearer.")
    tls: TlsConfig = Field(default=TlsConfig(), description="For https.")
    headers: dict[str, str] = Field(default_factory=dict, description="Sent with each request, e.g. X-Scope-OrgID.")
    external_labels: dict[str, str] = Field(default_factory=dict, description="Added where a series lacks them.")
    max_samples_per_send: int = Field(default=10_000, ge=1, le=1_000_000, description="Samples in one request.")
    batch_wait_s: float = Field(default=1.0, gt=0, le=60, description="A request leaves after this time at the latest.")
    timeout_s: float = Field(default=30.0, gt=0, le=300, description="Deadline of one request, all of it.")
    retry_first_s: float = Field(default=0.1, gt=0, description="Wait after the first failure; it doubles from there.")
    retry_most_s: float = Field(default=30.0, gt=0, le=300, description="Longest own wait between two attempts.")
    out_of_order: Literal["drop", "send"] = Field(
        default="drop",
        description="What becomes of samples older than the series' newest: `send` needs a receiver that accepts them.",
    )
    state_interval_s: float = Field(
        default=15.0, gt=0, le=120, description="How often findings, incidents, jobs and changes repeat."
    )
    states_max: int = Field(
        default=50_000,
        ge=1,
        description="Findings, incidents, devices, jobs, node states and changes followed at a time.",
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        return accept_renamed(settings, {"facts_interval_s": "state_interval_s", "facts_max": "states_max"})

    @field_validator("external_labels")
    @classmethod
    def _labels_are_names(cls, labels: dict[str, str]) -> dict[str, str]:
        for name in labels:
            if not re.match(_LABEL, name) or name == "__name__":
                raise ValueError(f"{name!r} is no label name")
        return labels

    @field_validator("headers")
    @classmethod
    def _headers_are_free(cls, headers: dict[str, str]) -> dict[str, str]:
        for name in headers:
            if name.lower() in _OWN_HEADERS:
                raise ValueError(f"{name} is set by the protocol or by its own setting")
        return headers

    @model_validator(mode="after")
    def _one_way_to_sign_in(self) -> "RemoteWriteConfig":
        if self.basic_auth is not None and self.bearer_token_file is not None:
            raise ValueError("give either basic_auth or bearer_token_file")
        return self
