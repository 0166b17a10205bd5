"""The two threads of the embedded bus: one commits, one reads. The event loop never waits for the disk.

Both are daemons: an fsync that never returns must not keep the process from ending.
"""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bus.base import Message
from bus.config import EmbeddedConfig
from bus.embedded import retention
from bus.embedded.log_reader import LogReader
from bus.embedded.log_writer import LogWriter
from bus.metrics import COMMIT_SECONDS, RETENTION_FAILURES
from common.errors import ConfigError, Unavailable
from common.units import to_ns
from telemetry.topics import Topic

_REOPEN_S = 1.0
_GROUP_PUBLISHES = 10_000
log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class PendingPublish:
    """One publish on its way to the disk. abandoned: its caller does not wait any more, so it must not be written."""

    topic: Topic
    messages: Sequence[Message]
    size: int
    done: "asyncio.Future[None]"
    abandoned: bool = False


class WriterThread:
    """Group commit: all that waits goes into one transaction.

    An idle bus commits at once. After a commit the next one waits out the interval, so that many publishers share an
    fsync: a transaction costs as much as twenty records.
    completed: called with the publishes of a transaction, and the error that failed them. committed: called after it.
    """

    def __init__(
        self,
        config: EmbeddedConfig,
        completed: Callable[[Sequence[PendingPublish], Exception | None], None],
        committed: Callable[[], None],
    ) -> None:
        self._config, self._completed, self._committed = config, completed, committed
        self._wake = threading.Condition()
        self._queue: deque[PendingPublish] = deque()
        self._stopping = False
        self._writer: LogWriter | None = None
        self._retention_due = 0.0
        self.opened = threading.Event()
        self.problem: str | None = None
        self.thread = threading.Thread(target=self._run, name="bus-writer", daemon=True)

    def submit(self, publish: PendingPublish) -> None:
        with self._wake:
            self._queue.append(publish)
            self._wake.notify()

    def finish(self) -> None:
        """Commits what waits, then ends."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:
            # a mistake of ours, or damage that SQLite does not see: who publishes must learn why nothing is durable
            self.problem = f"{self._config.path}: the writer has ended: {type(error).__name__}: {error}"
            log.exception("bus writer ended", path=str(self._config.path))
        finally:
            self._close()

    def _work(self) -> None:
        while True:
            group = self._next_group()
            began = time.monotonic()
            if group:
                self._commit(group)
            elif self._stopping:
                break
            if time.monotonic() >= self._retention_due:
                self._retain()
            if group:
                self._pause(began + self._config.commit_interval_ms / 1000)

    def _next_group(self) -> list[PendingPublish]:
        with self._wake:
            self._wake.wait_for(
                lambda: self._queue or self._stopping, timeout=max(0.0, self._retention_due - time.monotonic())
            )
            count = min(len(self._queue), _GROUP_PUBLISHES)
            return [self._queue.popleft() for _ in range(count)]

    def _pause(self, until: float) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._stopping, timeout=max(0.0, until - time.monotonic()))

    def _commit(self, group: list[PendingPublish]) -> None:
        wanted = [(publish.topic, publish.messages) for publish in group if not publish.abandoned]
        error = self._with_file(lambda writer: writer.append(wanted, time.time_ns()))
        if isinstance(error, ConfigError) and len(group) > 1:
            for publish in group:  # one wrong topic must not fail the others
                self._commit([publish])
            return
        if error is None:
            self._committed()
        self._completed(group, error)

    def _retain(self) -> None:
        interval_s = self._config.retention_interval_s if self.problem is None else _REOPEN_S
        self._retention_due = time.monotonic() + interval_s
        if self._with_file(self._retention_step) is not None:
            RETENTION_FAILURES.inc()

    def _retention_step(self, writer: LogWriter) -> None:
        db, config, now_ns = writer.connection, self._config, time.time_ns()
        if not retention.claim(db, now_ns, to_ns(config.retention_interval_s)):
            return
        retention.compact(db, now_ns, tombstone_s=config.tombstone_s)
        # One step of each a round, and a round at once while there is more: publishes are committed in between.
        if retention.expire(db, now_ns) | retention.trim(db, config.log_bytes_max):
            self._retention_due = 0.0
            retention.release(db)

    def _with_file(self, act: Callable[[LogWriter], None]) -> Exception | None:
        """Runs it on the open file; None, or why it failed. After an error of the disk the file is opened again."""
        try:
            if self._writer is None:
                self._writer = LogWriter(self._config.path)
                self.opened.set()
            with COMMIT_SECONDS.time():
                act(self._writer)
        except (sqlite3.Error, OSError) as error:
            self.problem = f"{self._config.path}: {error}"
            self._retention_due = time.monotonic() + _REOPEN_S
            self._close()
            return Unavailable(self.problem)
        except ConfigError as error:
            return error
        self.problem = None
        return None

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class ReaderThread:
    """Runs reads, and looks for new commits while a consumer waits for them (``watched``).

    committed: called with the totals of all topics when they have grown.
    """

    def __init__(
        self, config: EmbeddedConfig, opened: threading.Event, committed: Callable[[dict[str, int]], None]
    ) -> None:
        self._config, self._opened, self._committed = config, opened, committed
        self._wake = threading.Condition()
        self._jobs: deque[tuple[Callable[[LogReader], Any], Callable[[Any, Exception | None], None]]] = deque()
        self._stopping = self._poll_at_once = False
        self._reader: LogReader | None = None
        self._version = -1
        self.watched = False
        self.problem: str | None = None
        self.thread = threading.Thread(target=self._run, name="bus-reader", daemon=True)

    def submit(self, job: Callable[[LogReader], Any], completed: Callable[[Any, Exception | None], None]) -> None:
        with self._wake:
            self._jobs.append((job, completed))
            self._wake.notify()

    def poll_now(self) -> None:
        """Looks for commits at once: this process has just made one, or a consumer has just begun to wait."""
        with self._wake:
            self._poll_at_once = True
            self._wake.notify()

    def finish(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _run(self) -> None:
        while not self._stopping:
            with self._wake:
                self._wake.wait_for(
                    lambda: self._jobs or self._stopping or self._poll_at_once,
                    timeout=self._config.poll_interval_ms / 1000 if self.watched else None,
                )
                jobs, self._poll_at_once = list(self._jobs), False
                self._jobs.clear()
            reader = self._open_reader()
            for job, completed in jobs:
                if reader is None:
                    completed(None, Unavailable(f"{self._config.path}: cannot be read"))
                else:
                    self._run_job(reader, job, completed)
        self._close()

    def _open_reader(self) -> LogReader | None:
        """Also reports new commits; None when the file cannot be read."""
        try:
            if self._reader is None:
                if not self._opened.wait(0.5):
                    return None
                self._reader = LogReader(self._config.path)
            version = self._reader.version()
            if version != self._version and self.watched:
                self._version = version
                self._committed(self._reader.totals())
        except sqlite3.Error:
            self._close()
        return self._reader

    def _run_job(
        self, reader: LogReader, job: Callable[[LogReader], Any], completed: Callable[[Any, Exception | None], None]
    ) -> None:
        try:
            result = job(reader)
        except sqlite3.Error as error:
            completed(None, Unavailable(f"{self._config.path}: {error}"))
        except Exception as error:
            # damage that SQLite does not see, or a mistake of ours: it fails this read, not all of them
            self.problem = f"{self._config.path}: cannot be read: {type(error).__name__}: {error}"
            log.exception("bus cannot be read", path=str(self._config.path))
            completed(None, Unavailable(self.problem))
        else:
            self.problem = None
            completed(result, None)

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
