"""What is known of every target: when it answered, since when it is silent, whether it repeats itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State
from analytics.state import rates
from analytics.state.columns import Columns
from analytics.state.rates import NEVER
from analytics.state.registry import Registry
from analytics.state.tick import Tick
from telemetry.topology import Device, Topology

DEAF_INTERVALS = 1.5  # nobody was heard for so long: the collectors or the bus were away
# DCGM's exporter refreshes every 30 s by default: three of our default intervals. A target that repeats itself for
# longer is either idle or frozen.
REPEAT_INTERVALS = 3.0
CHANGING_MIN = 3  # series that must be known to change before a repetition means anything
_STREAK_MIN = 10  # samples in a row that differed: such a series changes always
_SHARE_MAX = 0.5  # more of a role unchanged at once is a pause of the work, not a fault of the exporters

LAYOUT: dict[str, tuple[str, float, int]] = {
    "first_ns": ("i8", NEVER, 1),  # oldest collection
    "seen_ns": ("i8", NEVER, 1),  # newest collection that succeeded
    "quiet_ns": ("i8", NEVER, 1),  # silence counts from here: the newest success, or when we began to listen again
    "tried_ns": ("i8", NEVER, 1),  # newest collection
    "down_ns": ("i8", NEVER, 1),  # first of the failed collections in a row, NEVER when it answers
    "down_count": ("i8", 0, 1),  # how many they are
    "moved_ns": ("i8", NEVER, 1),  # newest collection that was not a repetition
    "frozen": ("?", False, 1),
    "reset_ns": ("i8", NEVER, 1),  # newest collection in which most counters started again
    "reset_count": ("i8", 0, 1),  # how many did
}


class TargetState:
    """Columns by target number. ``update`` and ``without_repetitions`` come before the samples of a tick count."""

    def __init__(self, interval_ns: int) -> None:
        self.columns = Columns(LAYOUT)
        self._interval_ns = interval_ns

    def update(self, tick: Tick, ups: Sequence[bool], now_ns: int) -> None:
        """The collections of a tick, in event order. ups: whether each succeeded. now_ns: when the first was."""
        columns = self.columns
        columns["quiet_ns"][:] = quiet_since(columns["quiet_ns"], columns["tried_ns"], now_ns, self._interval_ns)
        for target, collected_ns, up in zip(tick.targets.tolist(), tick.collected_ns.tolist(), ups, strict=True):
            self._update(target, collected_ns, up)

    def _update(self, target: int, collected_ns: int, up: bool) -> None:
        columns = self.columns
        if columns["first_ns"][target] == NEVER:
            columns["first_ns"][target] = columns["quiet_ns"][target] = collected_ns
        columns["tried_ns"][target] = collected_ns
        if up:
            columns["seen_ns"][target] = columns["quiet_ns"][target] = collected_ns
            columns["down_ns"][target], columns["down_count"][target] = NEVER, 0
            return
        if columns["down_count"][target] == 0:
            columns["down_ns"][target] = collected_ns
        columns["down_count"][target] += 1

    def repetitions(self, tick: Tick, series: Columns, registry: Registry, topology: Topology) -> NDArray[np.bool_]:
        """bool[collections]: those that only repeat the one before; marks the targets that are frozen.

        series: state of the series before this tick.
        """
        sizes = np.diff(tick.starts)
        changed = rates.segment_sums(rates.has_moved(series["raw"], tick.sids, tick.values), tick.starts)
        moved_ns, frozen = self.columns["moved_ns"], self.columns["frozen"]
        unchanged: list[int] = []
        for batch in np.flatnonzero(sizes > 0).tolist():
            target, collected_ns = int(tick.targets[batch]), int(tick.collected_ns[batch])
            if changed[batch]:
                moved_ns[target], frozen[target] = collected_ns, False
            elif _should_have_changed(tick, batch, series, registry):
                unchanged.append(batch)
        repeated = np.zeros(sizes.size, bool)
        if unchanged:
            repeated[self._repeated(tick, unchanged, series, registry, topology)] = True
        return repeated

    def _repeated(
        self, tick: Tick, unchanged: list[int], series: Columns, registry: Registry, topology: Topology
    ) -> list[int]:
        """Which of the unchanged collections bring nothing: within a refresh period, or of a frozen target."""
        limit_ns = round(REPEAT_INTERVALS * self._interval_ns)
        within, suspects, rests = [], {}, registry.rules.rests
        for batch in unchanged:
            target = int(tick.targets[batch])
            sids = tick.sids[tick.starts[batch] : tick.starts[batch + 1]]
            if tick.collected_ns[batch] - self.columns["moved_ns"][target] <= limit_ns:
                within.append(batch)
            elif always_changing(series["streak"][sids[~rests[registry.columns["metric"][sids]]]]):
                suspects[batch] = registry.devices[target]
        answers = [
            device for device, down in zip(registry.devices, self.columns["down_count"], strict=True) if not down
        ]
        believed = frozen_devices(list(suspects.values()), answers, topology)
        frozen = [batch for batch, device in suspects.items() if device in believed]
        self.columns["frozen"][tick.targets[frozen]] = True
        return within + frozen

    def update_resets(self, tick: Tick, reset: NDArray[np.bool_], registry: Registry) -> None:
        """reset: bool[samples], counters that started again. When most of a target did, its device has rebooted."""
        if not reset.any():
            return
        counts = rates.segment_sums(reset, tick.starts)
        counters = registry.rules.counter[registry.columns["metric"][tick.sids]]
        live = rates.segment_sums(counters & (reset | (tick.values > 0)), tick.starts)
        for batch in np.flatnonzero((counts >= CHANGING_MIN) & (2 * counts >= live)).tolist():
            target = tick.targets[batch]
            self.columns["reset_ns"][target] = tick.collected_ns[batch]
            self.columns["reset_count"][target] = counts[batch]

    def state(self) -> State:
        return self.columns.state()

    def restore(self, state: State) -> None:
        self.columns.restore(state)


def quiet_since(
    quiet_ns: NDArray[np.int64], tried_ns: NDArray[np.int64], now_ns: int, interval_ns: int
) -> NDArray[np.int64]:
    """``quiet_ns`` as of ``now_ns``: moved up to it where nobody was heard since long before."""
    heard_ns = int(tried_ns.max(initial=NEVER))
    if heard_ns == NEVER or now_ns - heard_ns <= round(DEAF_INTERVALS * interval_ns):
        return quiet_ns
    return np.where(quiet_ns == NEVER, NEVER, np.maximum(quiet_ns, now_ns))


def _should_have_changed(tick: Tick, batch: int, series: Columns, registry: Registry) -> bool:
    sids = tick.sids[tick.starts[batch] : tick.starts[batch + 1]]
    counter = registry.rules.counter[registry.columns["metric"][sids]]
    return int(np.count_nonzero(counter & (series["value"][sids] > 0))) >= CHANGING_MIN


def always_changing(streak: NDArray[np.int32]) -> bool:
    """Whether series with these streaks must have changed in any true new collection."""
    return int(np.count_nonzero(streak >= _STREAK_MIN)) >= CHANGING_MIN


def frozen_devices(suspects: Sequence[str], devices: Sequence[str], topology: Topology) -> set[str]:
    """Which of the devices whose targets are unchanged are frozen.

    suspects: devices whose targets repeat themselves; devices: those of all targets that answer.
    When most devices of a role are unchanged at once, the cluster rests.
    """
    roles = {device.name: str(device.role) for device in topology.entities(Device)}
    unchanged, known = set(suspects), set(devices)
    frozen = set()
    for device in unchanged:
        role = roles.get(device, "")
        peers = {name for name in known if roles.get(name, "") == role}
        if len(peers) == 1 or len(unchanged & peers) <= _SHARE_MAX * len(peers):
            frozen.add(device)
    return frozen
