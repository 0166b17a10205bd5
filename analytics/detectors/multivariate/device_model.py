"""All devices of one kind: their own normals, the healthy history, the model, and verdicts on new vectors."""

import math
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.multivariate.features import (
    Devices,
    comparable,
    find_devices,
    groups_of,
    measured,
    peers_median,
)
from analytics.detectors.multivariate.history import History
from analytics.detectors.multivariate.measures import Kind
from analytics.detectors.multivariate.training import Training
from analytics.detectors.multivariate.verdicts import Judged, verdicts_of
from analytics.detectors.spec import Verdicts
from analytics.models.group_medians import group_medians
from analytics.models.multivariate import own
from analytics.models.multivariate.config import MultivariateConfig
from analytics.snapshot.stateful import State, Stateful, joined, restore_joined
from analytics.state.columns import Columns
from analytics.state.rates import NEVER
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

_TIMES_PEERS = 2.0  # a device whose peers deviate from their normals too has to deviate so many times as far
_KEEP_INTERVALS = 3  # one vector of a device in so many goes into the history …
_KEPT_DEVICES = 64  # … and of large clusters about so many devices at a time


class Unhealthy(NamedTuple):
    """devices: int64[k], object numbers of devices with findings of other detectors. jobs: ids of such jobs.

    They are not learned meanwhile.
    """

    devices: NDArray[np.int64]
    jobs: frozenset[str]


class DeviceModel:
    """One kind of device. Rows of the state are devices by name: object numbers may change.

    It gives findings like a detector. What it learns depends on the findings of others, so it runs after them.
    """

    kind = FindingKind.DEVIATION
    persist = 3
    fire_immediately_score = math.inf
    clear_intervals = 6.0

    def __init__(self, kind: Kind, config: MultivariateConfig, interval_ns: int, workers: Executor) -> None:
        self.device, self.name = kind, f"multivariate_{kind.name}"
        parts = [part for measure in kind.measures for part in (measure.over, measure.under) if part]
        self.metrics = tuple(dict.fromkeys(part.metric for part in parts))
        self._keep_ns = _KEEP_INTERVALS * interval_ns
        width = 2 * len(kind.measures)
        blocks = dict.fromkeys(("level", "spread", "count", "smooth"), ("f8", 0.0, width))
        self._state = Columns({**blocks, "seen_ns": ("i8", NEVER, 1)})
        self._floors = np.tile([measure.floor for measure in kind.measures], 2)
        self._names: list[str] = []
        self._devices: Devices | None = None
        self._rows = np.zeros(0, np.int64)
        self.history = History(width)
        self.training = Training(config, interval_ns, workers)

    def find(self, index: SeriesIndex) -> Devices:
        return find_devices(self.device, index)

    def judge(self, view: TickView, unhealthy: Unhealthy) -> list[Verdicts]:
        """Verdicts on this tick's new vectors; learns from them."""
        devices = view.data.per_series(self.find)
        if devices is not self._devices:
            self._align_rows(devices, view.index)
        self.training.step(view.end_ns, self.history)
        if not devices.objects.size:
            return []
        values, times_ns = measured(self.device, devices, view)
        new = np.flatnonzero((times_ns > self._state["seen_ns"][self._rows]) & ~np.isnan(values[:, 0]))
        if not new.size:
            return []
        groups = groups_of(self.device, devices, view)
        scaled = comparable(self.device, values)
        peers = peers_median(scaled, groups)
        since_ns = self._state["seen_ns"][self._rows[new]]
        vectors, levels = self._own_distances(new, scaled, peers, times_ns, view.config.baseline.alpha)
        ready = self._state["count"][self._rows[new], 0] > own.WARMUP
        score = np.zeros(new.size)
        model = self.training.model
        if model is not None:
            score = _unlike_peers(model.score(vectors), groups[new])
        kept = (
            ready
            & (score < 1.0)
            & self._due(new, times_ns[new], since_ns)
            & ~self._unhealthy(view, devices, groups, unhealthy)[new]
        )
        self.history.add(vectors[kept], view.end_ns)
        if model is None:
            return []
        parts = np.zeros(vectors.shape)
        parts[score >= 1.0] = model.shape.contributions(vectors[score >= 1.0])
        judged = Judged(new, times_ns[new], score, values[new], levels, peers[new], parts).only(ready)
        return [verdicts_of(self.device, devices, judged)]

    def _own_distances(
        self,
        new: NDArray[np.int64],
        scaled: NDArray[np.float64],
        peers: NDArray[np.float64],
        times_ns: NDArray[np.int64],
        alpha: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """float64[k, 2 M] vectors of the new rows, and float64[k, M] their own levels as they were before."""
        state, rows = self._state, self._rows[new]
        inputs = np.concatenate([scaled[new], scaled[new] - peers[new]], axis=1)
        levels = state["level"][rows, : scaled.shape[1]].copy()
        vectors = np.empty(inputs.shape)
        learned = own.OwnLevels(state["level"], state["spread"], state["count"], state["smooth"])
        own.relate(rows, inputs, self._floors, alpha, learned, vectors)
        state["seen_ns"][rows] = times_ns[new]
        return vectors, levels

    def _due(
        self, new: NDArray[np.int64], times_ns: NDArray[np.int64], since_ns: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        period = times_ns // self._keep_ns
        stride = -(-len(self._names) // _KEPT_DEVICES)
        turn = (self._rows[new] + period) % stride == 0
        return np.asarray(turn & (since_ns // self._keep_ns < period))

    def _unhealthy(
        self, view: TickView, devices: Devices, groups: NDArray[np.int64], unhealthy: Unhealthy
    ) -> NDArray[np.bool_]:
        """bool[n]: there is a finding about the device or one that it works with, so its values are not normal."""
        known = np.isin(devices.objects, unhealthy.devices) | np.isin(devices.hosts, unhealthy.devices)
        jobs = [n for n, job in enumerate(view.topology_index.jobs) if job.job_id in unhealthy.jobs]
        of_jobs = self.device.works_in_jobs & np.isin(groups, jobs)
        return np.asarray(of_jobs | np.isin(groups, groups[known]))

    def _align_rows(self, devices: Devices, index: SeriesIndex) -> None:
        """Rows of the state for the present devices; those that are gone are dropped."""
        names = index.objects.names
        wanted = [names[number] for number in devices.objects.tolist()]
        present = set(wanted)
        kept = [row for row, name in enumerate(self._names) if name in present]
        if len(kept) < len(self._names):
            self._state.keep(np.array(kept, np.int64))
            self._names = [self._names[row] for row in kept]
        known = {name: row for row, name in enumerate(self._names)}
        for name in wanted:
            if known.setdefault(name, len(self._names)) == len(self._names):
                self._names.append(name)
        self._state.grow(len(self._names))
        self._rows = np.array([known[name] for name in wanted], np.int64)
        self._devices = devices

    @property
    def devices(self) -> int:
        """How many there are."""
        return len(self._names)

    def _parts(self) -> dict[str, Stateful]:
        return {"devices": self._state, "history": self.history}

    def state(self) -> State:
        """Without ``training``, which has a block of its own."""
        state = joined(self._parts())
        return State({"names": self._names, "parts": state.head}, state.arrays)

    def restore(self, state: State) -> None:
        self._names, self._devices = list(state.head["names"]), None
        restore_joined(self._parts(), State(state.head["parts"], state.arrays))


def _unlike_peers(score: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """The score against the median of the group: what all of them show is their work and no fault of a device."""
    return np.asarray(score / np.maximum(1.0, _TIMES_PEERS * group_medians(groups, score)))
