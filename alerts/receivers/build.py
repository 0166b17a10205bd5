"""From settings to receivers."""

from alerts.config import ReceiverConfig
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.alertmanager.receiver import AlertmanagerReceiver
from alerts.receivers.base import Receiver
from alerts.receivers.webhook.config import WebhookConfig
from alerts.receivers.webhook.receiver import WebhookReceiver


def build_receiver(config: ReceiverConfig, external_url: str) -> Receiver:
    """external_url: where people reach our own API, '' for nowhere."""
    match config:
        case AlertmanagerConfig():
            return AlertmanagerReceiver(config, external_url)
        case WebhookConfig():
            return WebhookReceiver(config, external_url)
