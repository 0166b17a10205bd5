"""Settings of the alerts stage."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from alerts.heartbeat.config import HeartbeatConfig
from alerts.receivers.registry import ReceiverConfig
from alerts.route import Route


class AlertingConfig(BaseModel):
    """Who is notified of incidents, how, and how often at most."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    cluster: str = Field(default="cluster", max_length=64, description="Label `cluster` of every alert.")
    folder: Path = Field(default=Path("data/alerts"), description="Where the outbox and the silences are kept.")
    external_url: str = Field(default="", pattern=r"^(https?://.*)?$", description="Where people reach our API.")
    grafana_url: str = Field(default="", pattern=r"^(https?://.*)?$", description="Where people reach Grafana.")
    runbook_url: str = Field(
        default="",
        pattern=r"^(https?://.*)?$",
        description="Address of your own runbooks, with {kind} and {root} in it; our API's when not given.",
    )
    receivers: tuple[ReceiverConfig, ...] = Field(default=(), description="Where notifications are delivered.")
    routes: tuple[Route, ...] = Field(default=(), description="The first that fits decides; without one, all get it.")
    fallback: str = Field(default="", description="Receiver of what another one refused or let expire.")
    heartbeat: HeartbeatConfig | None = Field(
        default=None, description="Who notices outside when nobody can be paged any more; nobody when not given."
    )
    quiet_s: float = Field(default=1800, ge=0, description="At most one page an incident in this time.")
    critical_quiet_s: float = Field(default=300, ge=0, description="The same, of one that comes back critical.")
    update_quiet_s: float = Field(default=300, ge=0, description="At most one change of root an incident in this time.")
    pages_max: int = Field(default=20, ge=1, description="Pages at most within pages_window_s; the rest wait.")
    pages_critical_reserve: int | None = Field(
        default=None, ge=0, description="Part of pages_max for critical incidents alone; a quarter when not given."
    )
    pages_window_s: float = Field(default=600, ge=0, description="See pages_max.")
    drops_hold_s: float = Field(
        default=60, ge=0, description="How long a stage drops most samples before people are notified of it."
    )
    remember_s: float = Field(default=86_400, ge=60, description="How long a resolved incident is known.")
    incidents_max: int = Field(default=50_000, ge=1, description="Incidents known, beside those with an open page.")
    ttl_s: float = Field(default=86_400, ge=60, description="How long a delivery is tried before the fallback has it.")
    retry_first_s: float = Field(default=1.0, gt=0, description="Wait after the first failure; it doubles from there.")
    retry_most_s: float = Field(default=300.0, gt=0, le=3600, description="Longest wait between two attempts.")
    queue_max: int = Field(default=10_000, ge=1, description="Deliveries that wait for one receiver, beside ends.")
    reserve_bytes: int = Field(
        default=256 * 1024 * 1024, ge=0, description="Disk space kept free for the outbox when the disk fills up."
    )

    @model_validator(mode="after")
    def _names_fit(self) -> "AlertingConfig":
        names = [receiver.name for receiver in self.receivers]
        if len(set(names)) < len(names):
            raise ValueError(f"receivers: two have the same name: {', '.join(sorted(names))}")
        asked = {name for route in self.routes for name in route.receivers} | ({self.fallback} - {""})
        if unknown := asked - set(names):
            known = ", ".join(sorted(names)) or "none"
            raise ValueError(f"no receiver is called {', '.join(sorted(unknown))}; there are: {known}")
        return self

    @model_validator(mode="after")
    def _pages_are_left_for_all(self) -> "AlertingConfig":
        if (self.pages_critical_reserve or 0) >= self.pages_max:
            raise ValueError(f"pages_critical_reserve: must be less than pages_max ({self.pages_max})")
        return self
