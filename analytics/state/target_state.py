"""The state of every target: when it answered, since when it is silent, whether it is frozen."""

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.config import EngineConfig
from analytics.snapshot.stateful import Stateful
from analytics.state import rates, target_cadence, usual_gap
from analytics.state.columns import Columns, Layout, SomeColumns
from analytics.state.rates import NEVER
from analytics.state.registry import Registry
from analytics.state.tick import Tick
from common.jit import compiled
from telemetry.samples import Collection
from telemetry.topology import Device, Topology

OUTAGE_INTERVALS = 1.5  # without a collection of any target: the collectors or the bus were down
CHANGING_MIN = 3  # series that are known to change, without which a repetition is no evidence
_STREAK_MIN = 10  # samples in a row that differed: such a series always changes
_SECOND_GAPS = 1.5  # usual gaps beyond a refresh period: more than one collection was unchanged that should not be
_SHARE_MAX = 0.5  # of a role; more unchanged targets at once are a pause of the work, not a fault of the exporters

_COLLECTED: Layout = {
    "first_ns": ("i8", NEVER, 1),  # oldest collection
    "seen_ns": ("i8", NEVER, 1),  # newest collection that succeeded
    "quiet_ns": ("i8", NEVER, 1),  # silence counts from here: the newest success, or the end of our own outage
    "tried_ns": ("i8", NEVER, 1),  # newest collection
    "down_ns": ("i8", NEVER, 1),  # first of the failed collections in a row, NEVER when it answers
    "down_count": ("i8", 0, 1),  # their number
    "moved_ns": ("i8", NEVER, 1),  # newest collection that was not a repetition
    "frozen": ("?", False, 1),
    "reset_ns": ("i8", NEVER, 1),  # newest collection in which most counters started again
    "reset_count": ("i8", 0, 1),  # their number
}
LAYOUT: Layout = {**_COLLECTED, **target_cadence.LAYOUT}


class _Columns(NamedTuple):
    """Of all targets, as in ``LAYOUT``."""

    first_ns: NDArray[np.int64]
    seen_ns: NDArray[np.int64]
    quiet_ns: NDArray[np.int64]
    tried_ns: NDArray[np.int64]
    down_ns: NDArray[np.int64]
    down_count: NDArray[np.int64]
    epoch_ns: NDArray[np.int64]
    seq: NDArray[np.int64]
    gaps_s: NDArray[np.float32]
    watched_s: NDArray[np.float64]
    losses: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    returned_s: NDArray[np.float64]


class TargetState:
    """Columns by target number. ``update`` and ``repetitions`` come before the samples of a tick are processed."""

    def __init__(self, config: EngineConfig) -> None:
        self.columns = Columns(LAYOUT)
        self._interval_ns, self._tick_s = config.interval_ns, config.tick_ns * 1e-9

    def update(self, tick: Tick, collections: Sequence[Collection], now_ns: int) -> None:
        """The collections of a tick, in event order. now_ns: time of the first."""
        columns = self.columns
        often_ns = max(self._interval_ns, round(target_cadence.shortest_s(columns) * 1e9))
        columns["quiet_ns"][:] = quiet_since(columns["quiet_ns"], columns["tried_ns"], now_ns, often_ns)
        _collect(
            tick.targets,
            tick.collected_ns,
            np.array([each.up for each in collections], np.bool_),
            np.array([each.epoch_ns for each in collections], np.int64),
            np.array([each.seq for each in collections], np.int64),
            _Columns(*(columns[name] for name in _Columns._fields)),
        )
        target_cadence.update(columns, self._tick_s)

    def repetitions(self, tick: Tick, series: Columns, registry: Registry, topology: Topology) -> NDArray[np.bool_]:
        """bool[samples]: those that only repeat the previous one; marks frozen targets.

        A target that has one group of series every second and another one every minute moves by what has changed since
        it moved last: a value that is new after a minute may have changed before the target froze.

        series: state of the series before this tick.
        """
        sizes = np.diff(tick.starts)
        moved_ns, frozen = self.columns["moved_ns"], self.columns["frozen"]
        moved_gaps_s = self.columns["moved_gaps_s"]
        changed = rates.has_changed(series["raw"], tick.sids, tick.values)
        valued_ns = series["valued_ns"][tick.sids]
        since = (valued_ns == NEVER) | (valued_ns >= np.repeat(moved_ns[tick.targets], sizes))
        moved = rates.segment_sums(changed & since, tick.starts)
        unchanged: list[int] = []
        for batch in np.flatnonzero(sizes > 0).tolist():
            target, collected_ns = int(tick.targets[batch]), int(tick.collected_ns[batch])
            if moved[batch]:
                if moved_ns[target] != NEVER:
                    usual_gap.note(moved_gaps_s[target], (collected_ns - moved_ns[target]) * 1e-9)
                moved_ns[target], frozen[target] = collected_ns, False
            elif _should_have_changed(_same(tick, batch, changed), series, registry):
                unchanged.append(batch)
        if not unchanged:
            return np.zeros(changed.size, bool)
        repeated = np.zeros(sizes.size, bool)
        repeated[self._repeated(tick, unchanged, changed, series, registry, topology)] = True
        return np.asarray(np.repeat(repeated, sizes) & ~changed)

    def _repeated(
        self,
        tick: Tick,
        unchanged: list[int],
        changed: NDArray[np.bool_],
        series: Columns,
        registry: Registry,
        topology: Topology,
    ) -> list[int]:
        """Which of the unchanged collections are repetitions: within a refresh period, or of what may be frozen.

        Whether the work pauses is known once the others of its role were collected since: the first collection after
        that period that most of them do not share counts for nothing, and the second one makes a frozen target.
        """
        columns = self.columns
        limits_ns = columns["repeats_s"] * 1e9
        once_ns = limits_ns + _SECOND_GAPS * columns["usual_s"] * 1e9
        within, suspects, idles = [], {}, registry.rules.idles
        for batch in unchanged:
            target = int(tick.targets[batch])
            sids = _same(tick, batch, changed)
            if tick.collected_ns[batch] - columns["moved_ns"][target] <= limits_ns[target]:
                within.append(batch)
            elif always_changing(series["streak"][sids[~idles[registry.columns["metric"][sids]]]]):
                suspects[batch] = registry.devices[target]
        if not suspects:
            return within
        answers = columns["down_count"] == 0
        rests = answers & (columns["seen_ns"] - columns["moved_ns"] > limits_ns)
        names = np.array(registry.devices, object)
        devices = frozen_devices(set(suspects.values()), set(names[rests]), set(names[answers]), topology)
        alone = [batch for batch, device in suspects.items() if device in devices]
        targets = tick.targets[alone]
        again = tick.collected_ns[alone] - columns["moved_ns"][targets] > once_ns[targets]
        columns["frozen"][targets[again]] = True
        return within + alone

    def update_resets(self, tick: Tick, reset: NDArray[np.bool_], registry: Registry) -> None:
        """reset: bool[samples], counters that started again. When most of a target have, its device has rebooted.

        What the collections of the tick say about losses is learned here: a device that was off has lost none.
        """
        began_again = np.zeros(self.columns.size, np.bool_)
        if reset.any():
            self._update_resets(tick, reset, registry)
            began_again[tick.targets] = self.columns["reset_ns"][tick.targets] == tick.collected_ns
        target_cadence.learn_losses(self.columns, began_again, self._tick_s)

    def _update_resets(self, tick: Tick, reset: NDArray[np.bool_], registry: Registry) -> None:
        counts = rates.segment_sums(reset, tick.starts)
        counters = registry.rules.counter[registry.columns["metric"][tick.sids]]
        live = rates.segment_sums(counters & (reset | (tick.values > 0)), tick.starts)
        for batch in np.flatnonzero((counts >= CHANGING_MIN) & (2 * counts >= live)).tolist():
            target = tick.targets[batch]
            self.columns["reset_ns"][target] = tick.collected_ns[batch]
            self.columns["reset_count"][target] = counts[batch]

    @property
    def parts(self) -> dict[str, Stateful]:
        """By name of the block that each belongs to; ``targets`` comes first, as it says how many there are."""
        return {
            "targets": SomeColumns(self.columns, tuple(_COLLECTED)),
            "cadence": SomeColumns(self.columns, tuple(target_cadence.LAYOUT)),
        }


@compiled
def _collect(
    targets: NDArray[np.int64],
    collected_ns: NDArray[np.int64],
    ups: NDArray[np.bool_],
    epochs_ns: NDArray[np.int64],
    seqs: NDArray[np.int64],
    of: _Columns,
) -> None:
    for row in range(targets.size):
        target, at_ns = targets[row], collected_ns[row]
        if of.first_ns[target] == NEVER:
            of.first_ns[target] = of.quiet_ns[target] = at_ns
        target_cadence.note_attempt(
            target, at_ns, epochs_ns[row], seqs[row], of.tried_ns[target], of.epoch_ns, of.seq, of.gaps_s
        )
        of.tried_ns[target] = at_ns
        if ups[row]:
            gap_s = (at_ns - of.quiet_ns[target]) * 1e-9
            target_cadence.note_answer(target, gap_s, of.watched_s, of.losses, of.lost_s, of.returned_s)
            of.seen_ns[target] = of.quiet_ns[target] = at_ns
            of.down_ns[target], of.down_count[target] = NEVER, 0
        else:
            if of.down_count[target] == 0:
                of.down_ns[target] = at_ns
            of.down_count[target] += 1


def quiet_since(
    quiet_ns: NDArray[np.int64], tried_ns: NDArray[np.int64], now_ns: int, interval_ns: int
) -> NDArray[np.int64]:
    """``quiet_ns`` at ``now_ns``: moved up to it after an outage without a collection of any target."""
    newest_ns = int(tried_ns.max(initial=NEVER))
    if newest_ns == NEVER or now_ns - newest_ns <= round(OUTAGE_INTERVALS * interval_ns):
        return quiet_ns
    return np.where(quiet_ns == NEVER, NEVER, np.maximum(quiet_ns, now_ns))


def _same(tick: Tick, batch: int, changed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The series of a collection that say what they said before."""
    rows = slice(tick.starts[batch], tick.starts[batch + 1])
    return tick.sids[rows][~changed[rows]]


def _should_have_changed(sids: NDArray[np.int64], series: Columns, registry: Registry) -> bool:
    counter = registry.rules.counter[registry.columns["metric"][sids]]
    return int(np.count_nonzero(counter & (series["value"][sids] > 0))) >= CHANGING_MIN


def always_changing(streak: NDArray[np.int32]) -> bool:
    """Whether at least one of the series with these streaks would have changed in a new collection."""
    return int(np.count_nonzero(streak >= _STREAK_MIN)) >= CHANGING_MIN


def frozen_devices(suspects: Set[str], unchanged: Set[str], devices: Set[str], topology: Topology) -> set[str]:
    """Which of the devices whose targets are unchanged are so alone.

    suspects: devices that are judged. unchanged: those with a target that said nothing new when it was last collected;
    devices: those of all targets that answer. When most devices of a role are unchanged, the cluster is idle.
    """
    roles = {device.name: str(device.role) for device in topology.entities(Device)}
    alone = set()
    for device in suspects:
        role = roles.get(device, "")
        peers = {name for name in devices if roles.get(name, "") == role}
        if len(peers) == 1 or len(unchanged & peers) <= _SHARE_MAX * len(peers):
            alone.add(device)
    return alone
