"""Settings of the webhook receiver."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from alerts.receivers.config import HttpConfig


class WebhookConfig(HttpConfig):
    """Any service that accepts the body of Alertmanager's webhooks, version 4."""

    type: Literal["webhook"] = Field(default="webhook", description="JSON by POST, to whatever you have.")
    name: str = Field(default="webhook", pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="Name within the settings.")
    secret_file: Path | None = Field(default=None, description="File with the key of the HMAC-SHA256 signature.")
