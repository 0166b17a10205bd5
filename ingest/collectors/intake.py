"""Whether a receiver takes a message now: what waits is bounded, and what each sender may send. Pure: time goes in."""

from dataclasses import dataclass

from ingest.collectors.quota import Quota
from ingest.collectors.receiver_config import ReceiverLimits

_FULL_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a message is not taken, in words, and when to try again. is_quota: by its sender's fault alone."""

    message: str
    after_s: float
    is_quota: bool


class Intake:
    """waiting, waiting_bytes: messages that were taken and are not decoded yet."""

    def __init__(self, limits: ReceiverLimits) -> None:
        self._limits = limits
        self._senders: dict[str, tuple[Quota, Quota]] = {}
        self.waiting = self.waiting_bytes = 0

    def refusal(self, sender: str, size: int, now_ns: int) -> Refusal | None:
        """None when the message is taken: it waits then until it is released."""
        limits = self._limits
        if self.waiting >= limits.waiting_max or self.waiting_bytes + size > limits.waiting_bytes_max:
            return Refusal(f"{self.waiting} messages wait to be decoded", _FULL_WAIT_S, is_quota=False)
        messages, quantity = self._quotas(sender)
        wait_s = messages.wait_s(1, now_ns)
        if wait_s:
            return Refusal(f"more than {limits.messages_per_s:g} messages a second", wait_s, is_quota=True)
        wait_s = quantity.wait_s(size, now_ns)
        if wait_s:
            return Refusal(f"more than {limits.bytes_per_s:g} bytes a second", wait_s, is_quota=True)
        self.waiting += 1
        self.waiting_bytes += size
        return None

    def release(self, size: int) -> None:
        """A message that was taken does not wait any more."""
        self.waiting -= 1
        self.waiting_bytes -= size

    def _quotas(self, sender: str) -> tuple[Quota, Quota]:
        """Those of a sender; the one that was silent for longest is forgotten when there are too many."""
        found = self._senders.pop(sender, None)
        if found is None:
            found = Quota(self._limits.messages_per_s), Quota(self._limits.bytes_per_s)
            if len(self._senders) >= self._limits.senders_max:
                del self._senders[next(iter(self._senders))]
        self._senders[sender] = found
        return found
