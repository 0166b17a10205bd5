"""From series to one row of measures for each device, and the median of its peers at the same moment."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.multivariate.measures import Fold, Kind, Measure, Part
from analytics.models.group_medians import group_medians
from analytics.state.lookup import lookup
from analytics.state.rates import NEVER
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from telemetry.objects import ObjectKind

_PEERS_MIN = 3


@dataclass(frozen=True, slots=True)
class PartSeries:
    """The series of one part. sids: int64[k], device by device; starts: int64[m], first of each device; rows: int64[m],
    row of each of these devices.
    """

    sids: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Devices:
    """The devices of one kind, in order of their number. objects, hosts: int64[n], object numbers (hosts: of
    the device that reports it). members: int64[n], one GPU of each host, which has its job; else ``objects``.
    """

    objects: NDArray[np.int64]
    hosts: NDArray[np.int64]
    members: NDArray[np.int64]
    parts: dict[Part, PartSeries]


def find_devices(kind: Kind, index: SeriesIndex) -> Devices:
    """Costs a pass over every series of the kind, so it is called again only when the series change."""
    owners = _owners(kind, index)
    anchor = kind.measures[0].over
    sids = index.select(anchor.metric, anchor.selector)
    sids = sids[owners[sids] >= 0]
    objects, first = np.unique(owners[sids], return_index=True)
    wanted = {part for measure in kind.measures for part in (measure.over, measure.under) if part}
    parts = {part: _part_series(index, part, owners, objects) for part in wanted}
    hosts = index.device_objects[index.columns["target"][sids[first]]]
    return Devices(objects, hosts, index.columns["object"][sids[first]], parts)


def _owners(kind: Kind, index: SeriesIndex) -> NDArray[np.int64]:
    """int64[series]: number of the device of this kind that each series belongs to, -1 for none."""
    if kind.objects is ObjectKind.DEVICE:
        return np.asarray(index.device_objects[index.columns["target"]], np.int64)
    prefix = f"{kind.objects}:"
    of_kind = np.array([name.startswith(prefix) for name in index.objects.names], bool)
    about = index.columns["object"]
    return np.where(of_kind[about], about, -1)


def _part_series(index: SeriesIndex, part: Part, owners: NDArray[np.int64], objects: NDArray[np.int64]) -> PartSeries:
    sids = index.select(part.metric, part.selector)
    rows = lookup(objects, owners[sids])
    sids, rows = sids[rows >= 0], rows[rows >= 0]
    order = np.argsort(rows, kind="stable")
    present, starts = np.unique(rows[order], return_index=True)
    return PartSeries(sids[order], starts, present)


def measured(kind: Kind, devices: Devices, view: TickView) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """float64[n, measures], NaN where a series is missing or not fresh; int64[n], event time of the first measure."""
    parts = {part: _folded(view, part, where, devices.objects.size) for part, where in devices.parts.items()}
    found = np.full((devices.objects.size, len(kind.measures)), np.nan)
    for column, measure in enumerate(kind.measures):
        found[:, column] = parts[measure.over]
        if measure.under is not None:
            found[:, column] = parts[measure.over] / (np.abs(parts[measure.under]) + measure.least)
    times_ns = np.full(devices.objects.size, NEVER)
    anchor = devices.parts[kind.measures[0].over]
    if anchor.sids.size:
        times_ns[anchor.rows] = np.maximum.reduceat(view.series["value_ns"][anchor.sids], anchor.starts)
    return found, times_ns


def _folded(view: TickView, part: Part, where: PartSeries, n: int) -> NDArray[np.float64]:
    found = np.full(n, np.nan)
    if not where.sids.size:
        return found
    values = np.where(view.fresh.take(where.sids), view.series["value"].take(where.sids), np.nan)
    if part.fold is Fold.MAX:
        found[where.rows] = np.maximum.reduceat(values, where.starts)
        return found
    sums = np.add.reduceat(values, where.starts)
    counts = np.diff(np.append(where.starts, values.size)) if part.fold is Fold.MEAN else 1.0
    found[where.rows] = sums / counts
    return found


def comparable(kind: Kind, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measures on the scale on which they are compared: logarithms where factors count."""
    scaled = values.copy()
    for column, measure in enumerate(kind.measures):
        if measure.by_factor:
            scaled[:, column] = np.log(np.maximum(values[:, column], 0.0) + offset(measure))
    return scaled


def offset(measure: Measure) -> float:
    """What is added before the logarithm; a ratio has its least value in the denominator already."""
    return measure.least if measure.under is None else 1e-12


def peers_median(scaled: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[n, measures]: the median of each device's group, NaN where it has fewer than three members."""
    _, at, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    enough = (sizes[at] if groups.size else groups) >= _PEERS_MIN
    found = np.full(scaled.shape, np.nan)
    for column in range(scaled.shape[1]):
        found[:, column] = np.where(enough, group_medians(groups, np.ascontiguousarray(scaled[:, column])), np.nan)
    return found


def groups_of(kind: Kind, devices: Devices, view: TickView) -> NDArray[np.int64]:
    """int64[n]: devices with the same number do the same work.

    GPUs and hosts of one job (those without a job: GPUs of one host, all such hosts), ports of one switch with the same
    rating, and all storage targets.
    """
    topology = view.topology_index
    match kind.objects:
        case ObjectKind.GPU | ObjectKind.DEVICE:
            job = topology.job[devices.members]
            alone = devices.hosts if kind.objects is ObjectKind.GPU else np.zeros_like(devices.hosts)
            return np.where(job >= 0, job, -1 - alone)
        case ObjectKind.PORT:
            pairs = np.stack([devices.hosts, topology.speed_rating[devices.objects].astype(np.int64)], axis=1)
            return np.asarray(np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1), np.int64)
        case _:
            return np.zeros(devices.objects.size, np.int64)
