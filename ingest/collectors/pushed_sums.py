"""Canonical series to which several source series add up, when these are pushed one by one.

The parts of one sum have the time of their scrape, and may come in several pushes. A sum is complete when all parts
of the one before have come, or when a part of a later time comes. Pure.
"""

from dataclasses import dataclass, field

_NEVER = -(2**63)


@dataclass(slots=True)
class Sum:
    """One row. expected: slots whose part it waits for; parts: those that have come, of ``time_ns``."""

    expected: set[int] = field(default_factory=set)
    parts: dict[int, float] = field(default_factory=dict)
    time_ns: int = _NEVER
    done_ns: int = _NEVER

    def add(self, slot: int, time_ns: int, value: float) -> tuple[list[tuple[int, float]], bool]:
        """Sums that are complete now, as times and values, NaN where a part had none; whether the part was of use.

        A part that comes after its sum is not of use; its series is waited for from then on.
        """
        if time_ns <= self.done_ns:
            is_new = time_ns == self.done_ns and slot not in self.expected
            self.expected.add(slot)
            return [], is_new  # the sum was less than it should be, once: no value is lost for good
        if time_ns < self.time_ns or (time_ns == self.time_ns and slot in self.parts):
            return [], False
        complete = self._finish() if time_ns > self.time_ns and self.parts else []
        self.time_ns = time_ns
        self.parts[slot] = value
        return complete + self._if_complete(), True

    def end(self, slot: int) -> list[tuple[int, float]]:
        """The series of a part has ended; sums that are complete now."""
        self.expected.discard(slot)
        return self._if_complete()

    def _if_complete(self) -> list[tuple[int, float]]:
        return self._finish() if self.expected and self.parts.keys() >= self.expected else []

    def _finish(self) -> list[tuple[int, float]]:
        # a part that is NaN makes the sum NaN; -0.0 is the neutral element of addition, also for the sign of a zero
        found = [(self.time_ns, sum(self.parts.values(), -0.0))]
        self.expected, self.parts, self.done_ns = set(self.parts), {}, self.time_ns
        return found
