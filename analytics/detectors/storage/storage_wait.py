"""A client that waits for storage: its own times of operations, against the other clients' and against its own past.

A client sees the whole path: its own queue, its links, the fabric, the server, the target. By itself it shows that
storage is slow for it and nothing about where, so findings are about the host; correlation compares their paths.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts, computed_evidence
from analytics.detectors.storage.operations import (
    BUSY_TIMES,
    BYTES,
    NEW_INTERVALS,
    OPERATIONS_PER_SECOND_MIN,
    PEAK_FADES_S,
    SCORE_BUSY,
    byte_rows,
    bytes_per_second,
    counterparts,
    members,
    owners,
    sums_of,
)
from analytics.detectors.storage.short_times import (
    SHORT_TIMES,
    OperationTimes,
    score_with_short_times,
    without_short_times,
)
from analytics.models import baseline
from analytics.models.group_medians import group_medians
from analytics.models.storage_clients import CLIENTS_MEASURED, SERVER_SECONDS
from analytics.snapshot.block import Migration
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.limits import DISK_SECONDS
from telemetry.selectors import client_io, client_traffic, server_io
from telemetry.series import parse_series_key, series_key

_SUM, _COUNT = "storage_operation_duration_seconds_sum", "storage_operation_duration_seconds_count"
_QUEUE = "storage_queue_seconds_total"
# As of targets: three times the others at the same moment, five times the own past, as a checkpoint slows every client.
_TIMES_PEERS, _TIMES_OWN = 3.0, 5.0
# A client that is far away, or mounted with small requests, is always slower than others: it has to be slower than it
# was too. Twice is more than its ordinary mixture of requests makes (assumption).
_TIMES_CHANGED = 2.0
# The mean of few requests of any size varies widely by itself, and of some clients always does.
_SIGMAS = 8.0
_PEERS_MIN = 3
# Any cause on the way may be the reason, and which operations were asked for is not known.
_CONFIDENCE = 0.6


@dataclass(frozen=True)
class _About:
    """Of each of k series of sums. counts, moved, queues: row of its counts, its bytes and its time in the queue, -1
    without.

    owners: number, below k, of the client and file system; systems: of the file system; groups: of the file system and
    operation. names: the file system and operation of each. server_groups: int64[s], for each series of sums of a
    server the number in ``groups``, -1 where no client has such operations. server_counts: row of its counts.
    """

    counts: NDArray[np.int64]
    moved: NDArray[np.int64]
    queues: NDArray[np.int64]
    owners: NDArray[np.int64]
    systems: NDArray[np.int64]
    groups: NDArray[np.int64]
    names: tuple[tuple[str, str], ...]
    server_groups: NDArray[np.int64]
    server_counts: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StorageWait(Detector):
    """Judges the mean time of a client's operations since its last sample, reads and writes separately.

    Of several file systems of a host it shows the one that it waits for most.
    """

    name: str = "storage_wait"
    kind: FindingKind = FindingKind.STORAGE_WAIT
    metrics: tuple[str, ...] = (_SUM, _COUNT, _QUEUE, *BYTES)
    scope: Scope = Scope.CLUSTER
    persist: int = 3
    memory: tuple[MemoryColumn, ...] = (*LEVEL, MemoryColumn("peak"), MemoryColumn("system_peak"), *SHORT_TIMES)
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: without_short_times}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(_SUM, client_io)
        if not len(column):
            return []
        about = view.data.per_series(_about)
        counts = view.column(_COUNT, client_io)
        rate = np.where(_is_new(view, column), _at(counts.values, about.counts), np.nan)
        seconds = _mean(column.values, rate)
        measured = members(about.groups, ~np.isnan(seconds))
        peers = np.where(measured >= _PEERS_MIN, group_medians(about.groups, seconds), np.nan)
        known = memory.rows(column.sids)
        spread = baseline.deviations(memory["baseline"][known])
        own = learned_level(view, memory, column, seconds)
        by_peers = np.minimum(seconds / (_TIMES_PEERS * peers), seconds / (_TIMES_CHANGED * own))
        by_own = seconds / (_TIMES_OWN * own)
        more, system_more, more_than_peers = self._asked_for_more(view, memory, column, rate, about)
        by_peers = np.where(more_than_peers, np.minimum(by_peers, SCORE_BUSY), by_peers)
        by_own = np.where(more | system_more, np.minimum(by_own, SCORE_BUSY), by_own)
        normals = np.where(np.nan_to_num(by_peers) >= np.nan_to_num(by_own), peers, own)
        far_off = (seconds - own) / (_SIGMAS * spread)
        moved = bytes_per_second(view, client_traffic, about.moved)
        times = OperationTimes(rate, moved, seconds, about.groups, peers)
        by_peers = score_with_short_times(view, memory, column, np.minimum(by_peers, far_off), times)
        score = np.fmax(by_peers, np.minimum(np.minimum(by_own, far_off), seconds / DISK_SECONDS))
        rows = np.flatnonzero(~np.isnan(score))
        rows = rows[worst_of_each(column.objects[rows], score[rows])]
        evidence = self._evidence(view, column, about, rows, rate, seconds, normals, measured)
        shown = column.only(rows)
        return [Verdicts(shown.objects, shown.times_ns, score[rows] >= 1.0, score[rows], evidence, _CONFIDENCE)]

    def _asked_for_more(
        self, view: TickView, memory: Memory, column: Column, rate: NDArray[np.float64], about: _About
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a client, all clients of its file system together, and a client against the others, do so much that
        their times show nothing.

        Who gets five times slower finishes a fifth of what it could at most (utilisation law, see ``storage_slow``).
        What finishes more than that of the most that it has done, and half as much again as usual, is asked for more.
        """
        usual = _at(view.column(_COUNT, client_io).level, about.counts)
        total, total_usual = sums_of(about.owners, rate), sums_of(about.owners, usual)
        all_clients, all_usual = sums_of(about.systems, rate), sums_of(about.systems, usual)
        rows, fade = memory.rows(column.sids), np.exp(-view.config.interval_s / PEAK_FADES_S)
        peaks = []
        for name, now in (("peak", total), ("system_peak", all_clients)):
            peak = np.fmax(now, memory[name][rows] * np.where(column.new, fade, 1.0))
            memory[name][rows] = peak
            peaks.append(peak)
        own_peak, system_peak = peaks
        more = (_TIMES_OWN * total >= own_peak) & (total >= BUSY_TIMES * total_usual)
        system_more = (_TIMES_OWN * all_clients >= system_peak) & (all_clients >= BUSY_TIMES * all_usual)
        most = np.fmax(own_peak, group_medians(about.groups, own_peak))
        peers = group_medians(about.groups, np.where(np.isnan(rate), np.nan, total))
        return more, system_more, (_TIMES_PEERS * total >= most) & (total >= BUSY_TIMES * peers)

    def _evidence(
        self,
        view: TickView,
        column: Column,
        about: _About,
        rows: NDArray[np.int64],
        rate: NDArray[np.float64],
        seconds: NDArray[np.float64],
        normals: NDArray[np.float64],
        measured: NDArray[np.int64],
    ) -> tuple[EvidenceColumns, ...]:
        """Its time, the part of it in its own queue, how many clients it was compared with, and the server's time."""
        queue = view.column(_QUEUE, client_io)
        queued = _mean(_at(queue.values, about.queues), rate)
        queue_sids = np.append(queue.sids, -1)[about.queues]
        server = _server_seconds(view, about)

        shown = [about.names[row] for row in rows.tolist()]
        compared, nothing = measured[rows].astype(np.float64), np.full(rows.size, np.nan)
        each = "seconds an operation"
        return (
            EvidenceColumns(column.sids[rows], seconds[rows], normals[rows], each),
            EvidenceColumns(queue_sids[rows], queued[rows], nothing, each),
            computed_evidence(compared, nothing, "clients", lambda row: _key(CLIENTS_MEASURED, shown[row])),
            computed_evidence(server[rows], nothing, each, lambda row: _key(SERVER_SECONDS, shown[row])),
        )


def _is_new(view: TickView, column: Column) -> NDArray[np.bool_]:
    """Whether a value is fresh and of the newest collection: exporters of hosts are often read once in 30 s."""
    within_ns = NEW_INTERVALS * 1e9 * np.fmax(view.config.interval_s, view.cadence_of(column.sids))
    return column.fresh & (view.series["valued_ns"][column.sids] >= view.end_ns - within_ns)


def _at(values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of these rows; NaN for row -1."""
    return np.append(values, np.nan)[rows]


def _mean(total: NDArray[np.float64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Seconds an operation; NaN where so few are done that they show nothing."""
    return np.where(rate >= OPERATIONS_PER_SECOND_MIN, total / np.fmax(rate, 1e-9), np.nan)


def _server_seconds(view: TickView, about: _About) -> NDArray[np.float64]:
    """Of each series of a client: what the slowest target of its file system takes for the same operation, by its
    server; NaN where no server states it."""
    sums = view.column(_SUM, server_io)
    slowest = np.full(about.groups.size, np.nan)
    if not len(sums):
        return slowest
    rate = np.where(_is_new(view, sums), _at(view.column(_COUNT, server_io).values, about.server_counts), np.nan)
    seconds, wanted = _mean(sums.values, rate), about.server_groups >= 0
    np.fmax.at(slowest, about.server_groups[wanted], seconds[wanted])
    return slowest[about.groups]


def _key(name: str, of: tuple[str, str]) -> str:
    return series_key(name, {"fs": of[0], "op": of[1]})


def _about(index: SeriesIndex) -> _About:
    sums, counts, queues = (index.select(metric, client_io) for metric in (_SUM, _COUNT, _QUEUE))
    names = _names(index, sums)
    groups = {name: number for number, name in enumerate(dict.fromkeys(names))}
    systems = {name: number for number, name in enumerate(dict.fromkeys(system for system, _ in names))}
    served = index.select(_SUM, server_io)
    return _About(
        counterparts(index, sums, counts),
        byte_rows(index, sums, client_traffic),
        counterparts(index, sums, queues),
        owners(index, sums),
        np.array([systems[system] for system, _ in names], np.int64),
        np.array([groups[name] for name in names], np.int64),
        tuple(names),
        np.array([groups.get(name, -1) for name in _names(index, served)], np.int64),
        counterparts(index, served, index.select(_COUNT, server_io)),
    )


def _names(index: SeriesIndex, sids: NDArray[np.int64]) -> list[tuple[str, str]]:
    """File system and operation of each series."""
    labels = [parse_series_key(index.keys[sid])[1] for sid in sids.tolist()]
    return [(each.get("fs", ""), each.get("op", "")) for each in labels]
