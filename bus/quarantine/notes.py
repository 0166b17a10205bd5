"""Which records a stage was working on when it died, and which of them did that too often. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bus.base import Record
from common.errors import BadInput

VERSION = 2
CRASHES_MAX = 2  # by an error of ours: the second one with the same record is no chance
KILLS_MAX = 5  # without a word: a record that takes all memory ends a process like whoever kills it at any moment
STEP = -1  # in place of a partition
KEPT_MAX = 50  # of each list: the note is one small write, and a stage that needs more has another problem


class Span(NamedTuple):
    """Records ``first``..``last`` of a partition. appended_ns: of the first, as a topic
    that was created again counts from 0.

    Also a step that is none of a record's: its name in place of the topic, ``STEP``, and its number.
    """

    topic: str
    partition: int
    first: int
    last: int
    appended_ns: int

    def holds(self, record: Record) -> bool:
        return (self.topic, self.partition) == (record.topic, record.partition) and (
            self.first <= record.offset <= self.last
        )

    def is_behind(self, passed: "Span") -> bool:
        """Whether a stage that has passed that one has passed this one too."""
        return (self.topic, self.partition) == (passed.topic, passed.partition) and self.last <= passed.last


def place_of(record: Record) -> Span:
    """One record."""
    return Span(record.topic, record.partition, record.offset, record.offset, record.appended_ns)


def spans_of(records: Iterable[Record]) -> tuple[Span, ...]:
    """What was polled, by partition: offsets of one partition come in order."""
    firsts: dict[tuple[str, int], Record] = {}
    lasts: dict[tuple[str, int], int] = {}
    for record in records:
        partition = (record.topic, record.partition)
        firsts.setdefault(partition, record)
        lasts[partition] = record.offset
    return tuple(place_of(first)._replace(last=lasts[partition]) for partition, first in firsts.items())


@dataclass(frozen=True, slots=True)
class Notes:
    """What outlives a crash.

    working: what the stage works on. failed: the same, once an error has ended it there. suspects: what it worked on
    when it died; it takes these one at a time. crashed: single records that it died of, as often as it did.
    quarantined: those of too often; put_aside: the ones of them that are among the dead letters.
    """

    working: tuple[Span, ...] = ()
    failed: tuple[Span, ...] = ()
    suspects: tuple[Span, ...] = ()
    crashed: tuple[Span, ...] = ()
    quarantined: tuple[Span, ...] = ()
    put_aside: tuple[Span, ...] = ()

    def after_crash(self) -> "Notes":
        """As a process finds them that starts after one that did not finish its work."""
        if not self.working:
            return self
        suspects = _newest((*(span for span in self.working if span.partition != STEP), *self.suspects))
        crashed, quarantined = self.crashed, self.quarantined
        (one, *others) = self.working
        if not others and one.first == one.last:
            most = CRASHES_MAX if self.failed == self.working else KILLS_MAX
            if self.crashed.count(one) + 1 < most:
                crashed = (one, *crashed)[:KEPT_MAX]
            else:
                crashed = tuple(each for each in crashed if each != one)
                quarantined = _newest((one, *quarantined))
        return replace(self, working=(), failed=(), suspects=suspects, crashed=crashed, quarantined=quarantined)

    def after_work(self, around: tuple[Span, ...] = ()) -> "Notes":
        """Once what it worked on is done: that was harmless. around: what it is working on still."""
        if not (self.suspects or self.crashed):
            return replace(self, working=around)
        suspects, crashed = (
            tuple(each for each in spans if not any(each.is_behind(done) for done in self.working))
            for spans in (self.suspects, self.crashed)
        )
        return replace(self, working=around, suspects=suspects, crashed=crashed)

    def suspect(self, record: Record) -> bool:
        return any(span.holds(record) for span in self.suspects)

    def quarantine(self, record: Record) -> bool:
        return bool(self.quarantined) and place_of(record) in self.quarantined

    def with_put_aside(self, place: Span) -> "Notes":
        return replace(self, put_aside=_newest((place, *self.put_aside)))


def _newest(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(spans))[:KEPT_MAX]


def encode_notes(notes: Notes) -> bytes:
    """One line of JSON."""
    fields = {name: [list(span) for span in getattr(notes, name)] for name in Notes.__slots__}
    return json.dumps({"version": VERSION, **fields}, separators=(",", ":")).encode() + b"\n"


def decode_notes(data: bytes) -> Notes:
    """The first line; BadInput when it is not of ``VERSION`` or not whole."""
    try:
        document = json.loads(data.partition(b"\n")[0])
        if document["version"] != VERSION:
            raise BadInput(f"version {document['version']}, expected {VERSION}", "version")
        return Notes(*(tuple(_span(fields) for fields in document[name]) for name in Notes.__slots__))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"expected notes of version {VERSION}: {error!r}", "format") from error


def _span(fields: Sequence[object]) -> Span:
    topic, *numbers = fields
    if not isinstance(topic, str) or [type(number) for number in numbers] != [int] * 4:
        raise TypeError(fields)
    return Span(*fields)  # type: ignore[arg-type]  # checked above
