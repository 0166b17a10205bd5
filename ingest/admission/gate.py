"""Whether a collection may begin now, and the reason when it may not. Pure: what is measured goes in by ``observe``."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.admission.limit import STOP_S, CollectionLimit
from ingest.admission.line import Priority
from ingest.admission.page_bytes import PageBytes
from ingest.admission.reasons import SkipReason
from ingest.config import SchedulerConfig

_MEMORY_SHARES = {Priority.LOW: 0.8, Priority.NORMAL: 0.9, Priority.HIGH: 0.95}
"""Of the memory that is allowed: up to where a collection of each priority begins."""
_PAGE_COPIES = 3  # as it comes, as it is read, and what is kept of it


@dataclass(slots=True)
class Gate:
    """Healthy targets and others have ``limit`` places each, so that dead ones take none from the living.

    pages: fetched and not decoded. overdue_s: how long work has waited for this process by now.
    memory: bytes in use and bytes allowed; None without a limit.
    """

    config: SchedulerConfig
    pages: PageBytes = field(default_factory=PageBytes)
    overdue_s: Callable[[], float] = lambda: 0.0
    memory: tuple[int, int] | None = None
    limit: CollectionLimit = field(default_factory=CollectionLimit)

    def refusal(self, priority: Priority, *, healthy: bool, running: int, running_all: int) -> SkipReason | None:
        """running: collections of targets of the same health; running_all: of all."""
        if running >= self.limit.limit or self.overdue_s() > STOP_S:
            return SkipReason.CPU
        if self.pages.held > self.config.page_bytes_max or self._would_exceed(priority, running_all):
            return SkipReason.MEMORY
        if not healthy and running >= self.config.unhealthy_max:
            return SkipReason.UNHEALTHY
        return None

    def _would_exceed(self, priority: Priority, running: int) -> bool:
        if self.memory is None:
            return False
        used, allowed = self.memory
        return used + running * _PAGE_COPIES * self.pages.largest > _MEMORY_SHARES[priority] * allowed
