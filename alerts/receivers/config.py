"""The settings of any receiver."""

from typing import Annotated

from pydantic import Field

from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig

ReceiverConfig = Annotated[AlertmanagerConfig | WebhookConfig, Field(discriminator="type")]
