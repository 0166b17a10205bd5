"""Waves: devices of one role that go and come back one after the other, or in batches, for about the same time.

Premise: somebody does it on purpose. It holds for a host that no job used when it went, or that the scheduler wanted
out of use; for any device whose use is not known, once two others of its role were back before it went, or once it is
back in time with other software. It does not hold for a host with a job on it, nor for a leaf with which a
job on several hosts stops, nor for a host with which something else of its rack went, which is not idle.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from analytics.correlate.absence import Absence
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import CorrelateConfig
from telemetry.topology import Role

LEARNED_MIN = 3  # devices that were back, from which on the longest of them says how long one takes
LONGER = 2.0  # times the longest so far: boots differ that much (assumption; 5 to 12 minutes of hosts of eight GPUs)
PATTERN_MIN = 2  # devices that were back before one whose use is not known went
ALIKE = 2.0  # the longest of them took at most so many times the shortest


@dataclass(frozen=True, slots=True)
class Member:
    """One device of a wave.

    quiet: nobody needs to be paged for it until ``due_ns``; 0: as long as it is wanted so. updated: whether it is back
    in time, with other software.
    """

    name: str
    absence: Absence
    quiet: bool
    due_ns: int
    updated: bool

    def overdue(self, now_ns: int) -> bool:
        """Whether it should have been back by now."""
        return not self.absence.back_ns and 0 < self.due_ns < now_ns


@dataclass(frozen=True)
class Wave:
    """members: by the time that they went."""

    role: Role
    members: tuple[Member, ...]

    @cached_property
    def took_ns(self) -> tuple[int, ...]:
        """How long those that are back were away, shortest first."""
        return tuple(
            sorted(each.absence.back_ns - each.absence.here_ns for each in self.members if each.absence.back_ns)
        )


def waves(absences: Mapping[str, Absence], graph: Graph, config: CorrelateConfig, now_ns: int) -> tuple[Wave, ...]:
    """All waves that are going on or were a while ago, by role and time; one device alone is one, too."""
    rows: dict[Role, list[tuple[int, str]]] = {}
    for name, absence in absences.items():
        role = graph.role(name)
        if role is not None and not absence.in_use:
            rows.setdefault(role, []).append((absence.since_ns, name))
    found = []
    for role in sorted(rows):
        for names in _in_turn(sorted(rows[role]), absences, config, now_ns):
            found.append(Wave(role, tuple(_members(names, absences, graph, config, now_ns))))
    return tuple(found)


def _in_turn(
    rows: Iterable[tuple[int, str]], absences: Mapping[str, Absence], config: CorrelateConfig, now_ns: int
) -> Iterable[list[str]]:
    """Names in groups: the next one goes at most ``wave_pause_s`` after the last one was back, or should have been."""
    group: list[str] = []
    until_ns = 0
    for since_ns, name in rows:
        if group and since_ns > until_ns + config.wave_pause_ns:
            yield group
            group, until_ns = [], 0
        group.append(name)
        until_ns = max(until_ns, absences[name].back_ns or min(now_ns, since_ns + config.away_ns))
    if group:
        yield group


def _members(
    names: list[str], absences: Mapping[str, Absence], graph: Graph, config: CorrelateConfig, now_ns: int
) -> Iterable[Member]:
    returns = _Returns(absences[name] for name in names)
    longest_ns = returns.longest_ns if returns.count >= LEARNED_MIN else 0
    for name in names:
        absence = absences[name]
        due_ns = _due_ns(absence, longest_ns, config, now_ns)
        quiet = bool(absence.idle) or returns.show_a_pattern(absence.since_ns)
        updated = bool(absence.software) and not 0 < due_ns < absence.back_ns
        quiet = (quiet or updated) and not _went_with_others(name, absences, graph, config)
        yield Member(name, absence, quiet, due_ns, updated)


class _Returns:
    """The devices of a wave that are back, by the time when they were: how long they took, up to each."""

    def __init__(self, absences: Iterable[Absence]) -> None:
        back = sorted((each.back_ns, each.back_ns - each.here_ns) for each in absences if each.back_ns)
        self._at_ns = [at_ns for at_ns, _ in back]
        self._longest_ns = list(accumulate((took_ns for _, took_ns in back), max))
        self._shortest_ns = list(accumulate((took_ns for _, took_ns in back), min))

    @property
    def count(self) -> int:
        return len(self._at_ns)

    @property
    def longest_ns(self) -> int:
        """Of all; there must be one."""
        return self._longest_ns[-1]

    def show_a_pattern(self, before_ns: int) -> bool:
        """Whether enough were back by then, after about the same time."""
        count = bisect_right(self._at_ns, before_ns)
        return count >= PATTERN_MIN and self._longest_ns[count - 1] <= ALIKE * self._shortest_ns[count - 1]


def _went_with_others(name: str, absences: Mapping[str, Absence], graph: Graph, config: CorrelateConfig) -> bool:
    """Whether something of its rack that was in use, or is no host, went at the same time: their power has failed."""
    rack, absence = graph.devices[name].rack, absences[name]
    if not rack or graph.role(name) is not Role.HOST:
        return False
    others = (absences[other] for other in graph.rack(rack) if other != name and other in absences)
    return any(
        not _is_work(other) and abs(other.since_ns - absence.since_ns) <= config.onset_slack_ns for other in others
    )


def _is_work(absence: Absence) -> bool:
    return bool(absence.idle or (absence.software and not absence.in_use))


def _due_ns(absence: Absence, longest_ns: int, config: CorrelateConfig, now_ns: int) -> int:
    """When a device should be back: by what the others of its wave took, else by the scheduler's will, else by the
    usual time."""
    if longest_ns:
        return absence.since_ns + round(LONGER * longest_ns) + config.onset_slack_ns
    usual_ns = absence.since_ns + config.away_ns
    if not absence.wanted_ns:
        return usual_ns
    return 0 if absence.wanted_ns >= now_ns else max(usual_ns, absence.wanted_ns + config.onset_slack_ns)
