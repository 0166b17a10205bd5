"""Posts notifications to a webhook, signed, with the key by which it can drop repetitions."""

from collections.abc import Callable, Mapping, Sequence

from alerts.addresses import Addresses
from alerts.notification import Notification
from alerts.receivers.http import EXPLANATION_CHARS, HttpReceiver
from alerts.receivers.webhook.answer import says_failure
from alerts.receivers.webhook.config import WebhookConfig
from alerts.rendering.webhook import body_of, signature
from common.errors import Unavailable
from common.secrets import read_secret
from common.units import NS_PER_S

KEY_HEADER = "X-Fabricscope-Key"
TIMESTAMP_HEADER = "X-Fabricscope-Timestamp"
SIGNATURE_HEADER = "X-Fabricscope-Signature"


class WebhookReceiver(HttpReceiver):
    """One POST a notification; nothing is repeated unless it may have been lost."""

    def __init__(
        self, config: WebhookConfig, addresses: Addresses, owner: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        super().__init__(config.name, config, addresses, owner)
        self._config = config

    @property
    def refresh_s(self) -> float:
        return 0.0

    async def notify(self, notification: Notification, now_ns: int) -> None:
        body = body_of(notification, self.name, self._addresses)
        now_s = now_ns // NS_PER_S
        headers = {KEY_HEADER: notification.key, TIMESTAMP_HEADER: str(now_s)}
        if self._config.secret_file is not None:
            with self._errors_named():
                secret = read_secret(self._config.secret_file)
            headers[SIGNATURE_HEADER] = signature(secret, now_s, body)
        answer = await self._post("", body, headers)
        if says_failure(answer.body):
            explanation = answer.explanation(EXPLANATION_CHARS)
            raise Unavailable(f"{self.name}: answered {answer.status} and a failure: {explanation}", answer.after_s)

    async def refresh(self, notifications: Sequence[Notification], now_ns: int) -> None:
        """A webhook remembers what it was sent."""
