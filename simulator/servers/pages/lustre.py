"""The pages of lustrefs-exporter: storage targets on their servers, client and LNet counters on the hosts."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import Readings, StorageReadings
from simulator.layout import Layout
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.io_time import BUCKETS_MS, IoCounts
from simulator.servers.pages.fields import Field, FieldPage, field

_KIB = 1024.0
Of = Callable[[StorageReadings], NDArray[np.generic]]


def server_page(layout: Layout, server: str, io_times: IoCounts, omits: Omits = omits_nothing) -> FieldPage:
    """The page of one storage server: its targets (OST)."""
    positions = np.array([i for i, target in enumerate(layout.targets) if target.server == server])
    names = [layout.targets[i].exporter_name for i in positions]
    plain = [{"component": "ost", "target": name} for name in names]
    reads = [{"component": "ost", "operation": "read", "target": name} for name in names]
    writes = [{"component": "ost", "operation": "write", "target": name} for name in names]

    def of(read: Of) -> Callable[[Readings], NDArray[np.generic]]:
        return lambda readings: read(readings.storage)[positions]

    hosts = len(layout.hosts)
    return FieldPage(
        [
            _gauge("lustre_available_kilobytes", "KiB available.", plain, of(lambda s: (s.capacity - s.used) / _KIB)),
            _gauge("lustre_capacity_kilobytes", "KiB in all.", plain, of(lambda s: s.capacity / _KIB)),
            _gauge(
                "lustre_exports_total", "Exports of the target.", plain, lambda _: np.full(len(names), hosts, np.int64)
            ),
            _gauge("lustre_free_kilobytes", "KiB free.", plain, of(lambda s: (s.capacity - s.used) / _KIB)),
            _gauge(
                "lustre_health_healthy",
                "1 when the targets of this server are healthy.",
                [{}],
                lambda readings: np.atleast_1d(readings.storage.up[positions].all()),
            ),
            _io_times(names, positions, io_times),
            _counter("lustre_read_bytes_total", "Bytes read.", reads, of(lambda s: s.read_bytes)),
            _counter("lustre_read_samples_total", "Reads done.", reads, of(lambda s: s.reads)),
            _counter("lustre_write_bytes_total", "Bytes written.", writes, of(lambda s: s.written_bytes)),
            _counter("lustre_write_samples_total", "Writes done.", writes, of(lambda s: s.writes)),
        ],
        omits,
    )


def _io_times(names: list[str], positions: NDArray[np.int64], io_times: IoCounts) -> Field:
    """The values are counts although the name ends in milliseconds: the exporter names Lustre's histogram like that."""
    rows = [
        {"component": "ost", "operation": operation, "target": name, "size": str(size)}
        for name in names
        for size in BUCKETS_MS
        for operation in ("read", "write")
    ]
    text = "Operations by the time they took; size is the end of the bucket in ms."
    return _counter("lustre_io_time_milliseconds_total", text, rows, lambda _: io_times.counts[positions])


def client_page(layout: Layout, host: str, omits: Omits = omits_nothing) -> FieldPage:
    """The page of one host: what it read and wrote as a client of the file system."""
    at = layout.hosts.index(host)
    target = f"{layout.filesystem}-{0xFFFF9239AA0C0000 + 0x800 * at:016x}"
    operations = ("read_bytes", "write_bytes", "read", "write")

    def counts(readings: Readings) -> NDArray[np.generic]:
        hosts = readings.hosts
        reads, writes = hosts.lustre_reads[at], hosts.lustre_writes[at]
        return np.array([reads, writes, reads, writes])  # the exporter gives samples, not sums, for *_bytes too

    return FieldPage(
        [
            _counter(
                "lustre_client_stats",
                "Operations of the client.",
                [{"operation": operation, "target": target} for operation in operations],
                counts,
            ),
            _gauge("lustre_health_healthy", "1 when Lustre is healthy.", [{}], lambda _: np.ones(1, np.int64)),
            _counter(
                "lustre_receive_bytes_total",
                "Bytes that LNet received.",
                [{}],
                lambda readings: readings.hosts.lustre_read_bytes[at : at + 1],
            ),
            _counter(
                "lustre_send_bytes_total",
                "Bytes that LNet sent.",
                [{}],
                lambda readings: readings.hosts.lustre_written_bytes[at : at + 1],
            ),
        ],
        omits,
    )


def _gauge(name: str, text: str, rows: list[dict[str, str]], read: Callable[[Readings], NDArray[np.generic]]) -> Field:
    return field(name, "gauge", text, "%d", rows, read)


def _counter(
    name: str, text: str, rows: list[dict[str, str]], read: Callable[[Readings], NDArray[np.generic]]
) -> Field:
    return field(name, "counter", text, "%d", rows, read)
