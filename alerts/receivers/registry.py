"""The one list of all kinds of receivers: their settings, and from settings to receivers.

Each branch imports its own receiver, so that reading settings loads no HTTP client.
"""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from alerts.addresses import Addresses
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.base import Receiver
from alerts.receivers.webhook.config import WebhookConfig

ReceiverConfig = Annotated[AlertmanagerConfig | WebhookConfig, Field(discriminator="type")]
"""One entry of ``receivers``: a new kind is added here and in ``build_receiver``."""


def build_receiver(
    config: ReceiverConfig, addresses: Addresses, owner: Callable[[], Mapping[str, str]] = dict
) -> Receiver:
    """addresses: of what messages link to. owner: headers that name who sends."""
    match config:
        case AlertmanagerConfig():
            from alerts.receivers.alertmanager.receiver import AlertmanagerReceiver

            return AlertmanagerReceiver(config, addresses, owner)
        case WebhookConfig():
            from alerts.receivers.webhook.receiver import WebhookReceiver

            return WebhookReceiver(config, addresses, owner)
