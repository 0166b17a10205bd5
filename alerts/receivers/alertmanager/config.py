"""Settings of the Alertmanager receiver."""

from typing import Literal

from pydantic import Field

from alerts.receivers.config import HttpConfig


class AlertmanagerConfig(HttpConfig):
    """An Alertmanager, by its address up to and without ``/api/v2``. A cluster of them: one receiver for each."""

    type: Literal["alertmanager"] = Field(default="alertmanager", description="Alertmanager's API, version 2.")
    name: str = Field(default="alertmanager", pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="Name within the settings.")
    external_url: str = Field(
        default="",
        pattern=r"^(https?://.*)?$",
        description="Where people reach it, for the link to a silence; url when not given.",
    )
    resend_s: float = Field(default=60.0, gt=0, le=240, description="How often open alerts are sent again.")
    hold_s: float = Field(
        default=900.0,
        ge=300,
        description="How long Alertmanager keeps an alert open when nothing more comes from us.",
    )

    @property
    def reached_at(self) -> str:
        """Its address for people, '' where there is none without a secret in it."""
        return self.external_url or ("" if set("@?") & set(self.url) else self.url)
