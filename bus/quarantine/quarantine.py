"""A record that ended a stage repeatedly goes to the dead letters, and the stage goes on.

While a stage works on what it has polled, a note in a file says on what. A process that finds such a note at its start
was preceded by one that died of it, or at that moment. It takes those records one at a time: then the next crash has
one record to its name. The second error with the same name is no chance; a process that ended without a word may have
been killed from outside, so it takes more of those.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import structlog

from bus.base import Bus, Consumer, Record
from bus.deadletter import dead_letter
from bus.metrics import QUARANTINED
from bus.quarantine.consumer import GuardedConsumer
from bus.quarantine.file import NotesFile
from bus.quarantine.notes import STEP, Notes, Span, place_of, spans_of
from common.errors import BadInput
from telemetry.topics import DEADLETTER, Topic

CRASHED = "crashed"
log = structlog.get_logger(__name__)


class Quarantine:
    """What one stage process keeps about the records that may have ended it.

    path: its file; one process at a time. None: nothing is quarantined. deadletter: where quarantined records go.
    """

    def __init__(self, path: Path | None, bus: Bus, deadletter: Topic = DEADLETTER) -> None:
        self._file = NotesFile(path)
        self._bus, self._deadletter = bus, deadletter
        self._problem: str | None = None
        self.notes = Notes()

    def start(self) -> None:
        """Reads what the process before has left."""
        found = self._file.open()
        self.notes = found.after_crash()
        if found.working:
            log.warning("the process before died at work", records=[str(tuple(span)) for span in found.working])
            self._file.write(self.notes)

    def stop(self) -> None:
        """Idempotent, safe before ``start``. What has failed stays blamed."""
        if not self.notes.failed:
            self._note(replace(self.notes, working=()))
        notes = self.notes
        self._file.close(keep=bool(notes.working or notes.suspects or notes.crashed or notes.quarantined))

    def problem(self) -> str | None:
        """None, or what this process has put aside or left out last, in words."""
        return self._problem

    def guard(self, consumer: Consumer) -> Consumer:
        """Its records but the quarantined ones."""
        return GuardedConsumer(consumer, lambda: self.notes, self._put_aside)

    def has_suspects(self) -> bool:
        """Whether records that may have ended this stage were not passed yet: until then it works in order."""
        return bool(self.notes.suspects or self.notes.crashed)

    def working_on(self, records: Sequence[Record], *, apart: bool = False) -> AbstractContextManager[None]:
        """What happens inside is blamed on these records when the process ends there: also by an Exception.

        apart: they are not all that was polled, and what lies between them is not blamed; at most ``KEPT_MAX``.
        Keep what waits for others outside: a process that is killed while it waits is not ended by a record.
        """
        spans = tuple(map(place_of, records)) if apart else spans_of(records)
        return self._working(spans) if spans else nullcontext()

    @contextmanager
    def attempt(self, step: str, number: int) -> Iterator[bool]:
        """The same for a step that is none of a record's, such as a tick. False: skip it, it ended the process
        repeatedly.

        May be used inside ``working_on``, and takes the blame from it.
        """
        this = Span(step, STEP, number, number, 0)
        if this in self.notes.quarantined:
            self._report_skipped(this)
            yield False
            return
        with self._working((this,)):
            yield True

    @contextmanager
    def _working(self, spans: tuple[Span, ...]) -> Iterator[None]:
        around = self.notes.working
        self._note(replace(self.notes, working=spans))
        try:
            yield
        except Exception:
            self._note(replace(self.notes, failed=self.notes.failed or spans))  # the innermost is to blame
            raise
        self._note(self.notes.after_work(around))

    def _report_skipped(self, step: Span) -> None:
        if step not in self.notes.put_aside:
            self._note(self.notes.with_put_aside(step))
            self._problem = f"{step.topic} {step.first} ended this stage repeatedly and was left out"
            log.error("step quarantined", step=step.topic, number=step.first)

    async def _put_aside(self, record: Record) -> None:
        """Publishes a quarantined record to the dead letters, once. Raises Unavailable."""
        detail = "the stage ended repeatedly while it worked on this record alone"
        await dead_letter(self._bus, record, BadInput(detail, CRASHED), topic=self._deadletter)
        self._note(self.notes.with_put_aside(place_of(record)))
        QUARANTINED.labels(record.topic).inc()
        place = f"{record.topic}[{record.partition}] {record.offset}"
        self._problem = f"record {place} ended this stage repeatedly and is among the dead letters"
        log.error("record quarantined", topic=record.topic, partition=record.partition, offset=record.offset)

    def _note(self, notes: Notes) -> None:
        self.notes = notes
        self._file.write(notes)
