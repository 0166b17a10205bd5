"""What was decided and waits: for the page budget, for a silence to end, for a quiet time to end. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing to notify people of before ``until_ns``, unless a new version says so."""

    until_ns: int


@dataclass(frozen=True, slots=True)
class Silenced:
    """A page that a silence holds."""


@dataclass(frozen=True, slots=True)
class Held:
    """A page that waits for the page budget."""

    critical: bool


Wait = Quiet | Silenced | Held


@dataclass(slots=True)
class Waiting:
    """The incidents that wait, by what for; ids only. quiet: and until when."""

    quiet: dict[str, int] = field(default_factory=dict)
    silenced: dict[str, None] = field(default_factory=dict)
    held: dict[str, None] = field(default_factory=dict)
    held_critical: dict[str, None] = field(default_factory=dict)

    def put(self, incident_id: str, wait: Wait | None) -> None:
        """In place of what it waited for before; None: it waits for nothing."""
        for index in (self.quiet, self.silenced, self.held, self.held_critical):
            index.pop(incident_id, None)
        match wait:
            case Quiet(until_ns):
                self.quiet[incident_id] = until_ns
            case Silenced():
                self.silenced[incident_id] = None
            case Held(critical):
                (self.held_critical if critical else self.held)[incident_id] = None

    def quiet_until(self, now_ns: int) -> list[str]:
        """Those whose quiet time is over. Few are in one: only what was paged can be."""
        return [incident_id for incident_id, until_ns in self.quiet.items() if until_ns <= now_ns]

    def for_a_silence(self) -> Iterable[str]:
        """Those that another set of silences may hold or let go."""
        return [*self.silenced, *self.held, *self.held_critical]
