"""A synthetic cluster for the conformance of detectors: healthy for as long as wanted, or with everything broken.

Two jobs of two hosts with four GPUs each, a leaf with two spines, a storage server. Values are made up, not modelled:
what matters is that every detector has something to judge.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from telemetry.changes import Change, ChangeKind
from telemetry.objects import job as job_object
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, Role, StorageTarget, TopologyFact

NS = 10**9
START_NS = 1_700_000_000 * NS
SILENT, FROZEN = ("leaf2", "node9"), ("node1",)
KERNELS = ("6.8.0-57", "6.8.0-60")  # before events begin and since
VANISHING = ('gpu="GPU-0-3"', 'port="Ethernet3"')
JOBS = {"7": ("node0", "node1"), "8": ("node2", "node3"), "9": ("node10", "node11", "node12")}
HOSTS, GPUS, SPINES, TARGETS = 4, 4, 2, 4
EVENTS_BEGIN, EVENTS_END, ABSENCES_BEGIN, STALL_BEGINS, ROUNDS = 30, 42, 88, 98, 114
PROGRAM_FAILS = 72
BOUNCES = 76  # a port that is up all the time
FALLS_BACK = range(74, 80)  # from RDMA to TCP
PERIOD, LASTS = 8, 2  # rounds of a checkpoint
NEWCOMERS_BEGIN = 66
_TESTED = 4e10  # bytes a second, by nccl-tests

Value = Callable[[int, np.random.Generator], float]


@dataclass
class _Series:
    """value: a gauge, or what a counter grows by each second."""

    key: str
    value: Value
    counter: bool = False


@dataclass
class _Target:
    device: str
    source: str
    series: list[_Series] = field(default_factory=list)
    begins: int = 0  # its first round

    def gauge(self, metric: str, labels: Mapping[str, str], value: Value) -> None:
        self.series.append(_Series(series_key(metric, {"device": self.device, **labels}), value))

    def counter(self, metric: str, labels: Mapping[str, str], value: Value) -> None:
        self.series.append(_Series(series_key(metric, {"device": self.device, **labels}), value, counter=True))


class Cluster:
    """eventful: whether anything breaks. interval_s: of all collections; round n is collected n intervals in."""

    def __init__(self, *, eventful: bool, interval_s: int = 10) -> None:
        self._eventful, self._interval_s = eventful, interval_s
        self._targets = [*(self._host(n) for n in range(HOSTS)), self._leaf(), self._lossy_leaf(), self._storage()]
        self._targets += [*self._newcomers(), self._unused_host(), *(self._member(host) for host in JOBS["9"])]
        self._before: dict[str, SampleBatch] = {}

    def batches(self, rounds: int = ROUNDS, seed: int = 1) -> Iterator[SampleBatch]:
        """Collections of all targets in event order, each at its own moment of the interval."""
        rng = np.random.default_rng(seed)
        tables = [
            SeriesTable(f"{t.source}/{t.device}", t.device, tuple(one.key for one in t.series)) for t in self._targets
        ]
        totals = [np.zeros(len(table)) for table in tables]
        for number in range(rounds):
            for at, (target, table, total) in enumerate(zip(self._targets, tables, totals, strict=True)):
                if number < target.begins:
                    continue
                values = np.array([one.value(number, rng) for one in target.series])
                counters = np.array([one.counter for one in target.series])
                total += np.where(counters, values * self._interval_s, 0.0)
                at_ns = START_NS + (number * self._interval_s * 10 + at) * (NS // 10)
                batch = _batch(table, number, at_ns, np.where(counters, np.round(1e6 + total, 3), values))
                batch = _without(batch, KERNELS[not (self._eventful and number >= EVENTS_BEGIN)])
                if not self._eventful or number < ABSENCES_BEGIN:
                    yield batch
                elif table.device not in SILENT:
                    yield _absent(batch, self._before)
                self._before[table.device] = batch if number < ABSENCES_BEGIN else self._before[table.device]

    def _event(self, healthy: Value | float, broken: Value | float) -> Value:
        """``broken`` while things go wrong."""
        usual, other = (v if callable(v) else _constant(v) for v in (healthy, broken))
        if not self._eventful:
            return usual
        return lambda n, rng: (other if EVENTS_BEGIN <= n < EVENTS_END else usual)(n, rng)

    def _count(self, each_round: float = 3.0) -> Value:
        """A counter of errors that grows only while things go wrong."""
        return self._event(0.0, each_round)

    def _host(self, host: int) -> _Target:
        target = _Target(f"node{host}", "dcgm")
        job = next(name for name, nodes in JOBS.items() if target.device in nodes)
        for n in range(GPUS):
            self._gpu(target, {"gpu": f"GPU-{host}-{n}"}, job, broken=(host, n) == (1, 2), hung=(host, n) == (3, 1))
        nic = {"port": "mlx5_0"}
        target.gauge("nic_up", nic, self._event(1.0, 0.0) if host == 0 else _constant(1.0))
        target.gauge("nic_pcie_stalled_ratio", {**nic, "op": "write"}, self._event(_about(0.01), 0.9))
        target.counter("nic_flaps_total", nic, self._count(0.4))
        target.counter("ib_port_symbol_errors_total", nic, self._count(40.0))
        target.counter("ib_port_transmit_bytes_total", nic, self._sent(host, job))
        target.gauge("node_sensor_severity", {"sensor": "PSU 1", "kind": "power"}, self._event(0.0, 2.0))
        target.gauge("node_temperature_celsius", {"sensor": "Inlet Temp"}, self._event(_about(24.0), 41.0))
        target.gauge("node_boot_time_seconds", {}, self._event(1.6e9, 1.7e9) if host == 2 else _constant(1.6e9))
        target.gauge("node_load_1m", {}, _about(40.0))
        for version in KERNELS:
            target.gauge("device_software_info", {"component": "kernel", "version": version}, _constant(1.0))
        self._client(target, waits=host == 2)
        return target

    def _client(self, target: _Target, *, waits: bool) -> None:
        mount = {"system": "nfs", "fs": "nas1:/home", "target": "", "side": "client"}
        read = {**mount, "op": "read"}
        target.counter("storage_operation_duration_seconds_count", read, _constant(100.0))
        target.counter("storage_operation_duration_seconds_sum", read, self._event(0.4, 20.0 if waits else 0.4))
        target.counter("storage_queue_seconds_total", read, self._event(0.1, 10.0 if waits else 0.1))
        target.counter("storage_errors_total", {**mount, "kind": "read_timeout"}, self._count(0.1 if waits else 0.0))

    def _gpu(self, target: _Target, gpu: dict[str, str], job: str, *, broken: bool, hung: bool) -> None:
        def working(usual: float, paused: float, polling: float = 0.0) -> Value:
            """From ``STALL_BEGINS`` on one GPU of a job hangs and the others poll for it."""
            noise = _about(usual)
            stalled = self._eventful and job == "8"
            return lambda n, rng: (
                polling if stalled and n >= STALL_BEGINS else paused if self._pauses(job, n) else noise(n, rng)
            )

        def only(value: Value | float, healthy: Value) -> Value:
            return self._event(healthy, value) if broken else healthy

        idle = self._event(working(0.5, 0.02), 0.0) if hung else only(0.9, working(0.5, 0.02))
        target.gauge("gpu_tensor_active_ratio", gpu, idle)
        polls = working(0.8, 0.05, 0.01 if hung else 0.13)
        target.gauge("gpu_sm_active_ratio", gpu, self._event(polls, 0.1) if hung else polls)
        target.gauge("gpu_utilization_ratio", gpu, _constant(1.0) if hung else working(1.0, 0.3, 1.0))
        target.gauge("gpu_sm_clock_hertz", gpu, only(1.2e9, _about(1.98e9, 0.002)))
        target.gauge("gpu_power_watts", gpu, self._event(_about(600.0), 90.0) if hung else _about(600.0))
        target.counter("gpu_energy_joules_total", gpu, _about(600.0))
        target.gauge("gpu_temperature_celsius", gpu, self._event(_about(62.0, 0.005), 95.0 if broken else 75.0))
        target.gauge("gpu_memory_used_bytes", gpu, _about(6e10))
        target.gauge("gpu_power_limit_watts", gpu, only(500.0, _constant(700.0)))
        target.gauge("gpu_xid_last", gpu, only(79.0, self._program_error(gpu["gpu"])))
        target.gauge("gpu_pcie_lanes", gpu, only(8.0, _constant(16.0)))
        target.counter("gpu_pcie_replays_total", gpu, only(5.0, _constant(0.0)))
        target.counter("gpu_throttle_seconds_total", {**gpu, "reason": "thermal"}, only(0.5, _constant(0.0)))
        target.counter("gpu_nvlink_errors_total", {**gpu, "kind": "replay"}, only(0.3, _constant(0.0)))
        target.gauge("gpu_row_remap_pending", gpu, only(1.0, _constant(0.0)))
        errors = {**gpu, "persistence": "volatile"}
        for severity in ("correctable", "uncorrectable"):
            target.counter("gpu_ecc_errors_total", {**errors, "severity": severity}, only(3.0, _constant(0.0)))

    def _program_error(self, gpu: str) -> Value:
        """The last XID of a GPU that is healthy: one of them stops a program that makes an error."""
        failing = self._eventful and gpu == "GPU-0-0"
        return lambda n, rng: 31.0 if failing and n >= PROGRAM_FAILS else 0.0

    def _sent(self, host: int, job: str) -> Value:
        """Of a host: its part of a checkpoint while its job pauses, of which one host once writes hardly anything."""
        steps, part, little = _about(2e10), _about(1e9), _about(1e7)

        def value(n: int, rng: np.random.Generator) -> float:
            slow = host == 1 and n >= 70
            return (steps if not self._pauses(job, n) else little if slow else part)(n, rng)

        return value

    def _pauses(self, job: str, number: int) -> bool:
        """Whether a job is held up by its checkpoint. Eventful ones are late, collide, and do not come any more.

        Where nothing happens checkpoints are too short to be seen.
        """
        at = number - (0 if job == "7" else PERIOD // 2)
        usual = self._eventful and at >= PERIOD and at % PERIOD < LASTS
        if number < EVENTS_END + PERIOD or not self._eventful:
            return usual
        if number < 64:  # one lasts several times as long as usual
            return usual or (job == "7" and 52 <= number < 60)
        if number < 84:  # both write at the same time and need longer
            return 70 <= number < 78
        return False  # no checkpoint comes any more

    def _leaf(self) -> _Target:
        target = _Target("leaf1", "gnmi")
        for host in range(HOSTS):
            self._port(target, {"port": f"Ethernet{host}"}, broken=host == 2)
        for spine in range(SPINES):
            uplink = {"port": f"Ethernet{100 + spine}"}
            even = _about(2e10)
            load = self._event(even, 4e10 if spine else 1e9)
            target.gauge("fabric_port_up", uplink, _constant(1.0))
            target.counter("fabric_port_transmit_bytes_total", uplink, load)
        target.gauge("fabric_bgp_session_up", {"peer": "10.0.0.1"}, self._event(1.0, 0.0))
        target.gauge("fabric_device_part_ok", {"sensor": "fan1", "kind": "fan"}, self._event(1.0, 0.0))
        target.gauge("fabric_device_temperature_celsius", {"sensor": "inlet"}, _about(26.0))
        return target

    def _port(self, target: _Target, port: dict[str, str], *, broken: bool) -> None:
        def only(value: float, healthy: Value) -> Value:
            return self._event(healthy, value) if broken else healthy

        none = _constant(0.0)
        target.gauge("fabric_port_up", port, only(0.0, _constant(1.0)))
        target.gauge("fabric_port_speed_bits_per_second", port, only(2e11, _constant(4e11)))
        target.counter("fabric_port_flaps_total", port, only(0.4, none))
        target.counter("fabric_port_transmit_bytes_total", port, _about(2e10))
        target.counter("fabric_port_receive_bytes_total", port, _about(2e10))
        target.counter("fabric_port_fec_uncorrectable_codewords_total", port, only(3.0, none))
        target.counter("fabric_port_fec_corrected_codewords_total", port, only(6e7, _about(2000.0)))
        target.gauge("fabric_port_bit_error_ratio", {**port, "stage": "pre_fec"}, only(2e-4, _about(1e-8)))
        target.gauge("fabric_port_optical_power_dbm", {**port, "lane": "1", "direction": "rx"}, _about(1.0, 0.01))
        for direction in ("rx", "tx"):
            pause = {**port, "priority": "3", "direction": direction}
            target.counter("fabric_port_pfc_pause_seconds_total", pause, only(0.999, none))
            target.counter("fabric_port_pfc_pause_frames_total", pause, only(20_000.0, none))
        queue = {**port, "queue": "3"}
        target.counter("fabric_queue_ecn_marked_packets_total", queue, only(0.0, _about(50.0)))
        target.counter("fabric_queue_transmit_packets_total", queue, _about(1e6))
        target.counter("fabric_queue_transmit_bytes_total", queue, only(0.0, _about(2e10)))
        target.counter("fabric_queue_dropped_packets_total", queue, only(50.0, none))
        target.counter("fabric_pfc_watchdog_storms_total", queue, only(0.2, none))
        target.gauge("fabric_queue_occupancy_peak_bytes", {**queue, "reset": "interval"}, only(8e6, _about(1e5)))
        other = {**port, "queue": "4"}
        target.counter("fabric_queue_ecn_marked_packets_total", other, only(80_000.0, _about(50.0)))
        target.counter("fabric_queue_transmit_packets_total", other, _about(1e6))

    def _lossy_leaf(self) -> _Target:
        """A switch with ECN off."""
        target = _Target("leaf2", "gnmi")
        port = {"port": "Ethernet0"}
        frames = {**port, "priority": "3", "direction": "tx"}
        target.gauge("fabric_port_up", port, _constant(1.0))
        changes = 2.0 / self._interval_s if self._eventful else 0.0
        target.counter("fabric_port_flaps_total", port, lambda n, rng: changes if n == BOUNCES else 0.0)
        target.counter("fabric_port_pfc_pause_frames_total", frames, self._count(20_000.0))
        target.counter("fabric_queue_ecn_marked_packets_total", {**port, "queue": "3"}, _constant(0.0))
        target.counter("fabric_port_transmit_bytes_total", port, _about(2e10))
        return target

    def _newcomers(self) -> list[_Target]:
        """A host with one link that loses its power, and the leaf that sees that."""
        leaf = _Target("leaf3", "gnmi", begins=NEWCOMERS_BEGIN)
        host = _Target("node9", "node", begins=NEWCOMERS_BEGIN)
        dies = self._eventful
        leaf.gauge("fabric_port_up", {"port": "Ethernet0"}, lambda n, rng: float(not dies or n < ABSENCES_BEGIN))
        host.gauge("node_load_1m", {}, _constant(40.0))
        return [leaf, host]

    def _unused_host(self) -> _Target:
        """GPUs without a job, of which one has a low clock for a while."""
        target = _Target("node13", "dcgm", begins=NEWCOMERS_BEGIN)
        for n in range(GPUS):
            gpu = {"gpu": f"GPU-13-{n}"}
            slow = self._eventful and n == 1
            target.gauge("gpu_sm_clock_hertz", gpu, _clock(range(72, 80) if slow else range(0)))
            target.counter("gpu_throttle_seconds_total", {**gpu, "reason": "power"}, _constant(0.0))
        return target

    def _member(self, host: str) -> _Target:
        """A host of a job whose exchange goes over the kernel of its first host, for a while."""
        target, nic = _Target(host, "node", begins=NEWCOMERS_BEGIN), {"port": "mlx5_0"}
        part = 0.0 if host == JOBS["9"][0] else 0.5
        for direction in ("receive", "transmit"):
            target.counter(f"ib_port_{direction}_bytes_total", nic, self._while_tcp(2e9, 2e9 * part))
            target.counter(f"nic_{direction}_bytes_total", nic, self._while_tcp(3e6, 2e9 * (1.0 - part)))
        collective = {"op": "AllReduce", "ranks": "3", "nodes": "3", "size": "1-2GB"}
        of_job = {
            **collective,
            "communicator": "DP Group 0",
            "job_id": "9",
            "index": "GPU0",
            "algorithm": "RING_SIMPLE",
        }
        target.gauge("nccl_bus_bandwidth_bytes_per_second", of_job, self._bus_bandwidth)
        if host == JOBS["9"][0]:
            tested = {**collective, "communicator": "nccl-tests"}
            target.gauge("nccl_bus_bandwidth_bytes_per_second", tested, _constant(_TESTED))
        return target

    def _bus_bandwidth(self, number: int, rng: np.random.Generator) -> float:
        """Another value in every file: no two means of so many collectives are the same."""
        share = 0.2 if self._eventful and number in FALLS_BACK else 0.9
        return share * _TESTED * (1.0 + 1e-3 * (number % 7))

    def _while_tcp(self, usual: float, other: float) -> Value:
        """Bytes a second, and those while a host has fallen back to TCP."""
        healthy, broken = _about(usual), _about(other)
        return lambda n, rng: (broken if self._eventful and n in FALLS_BACK else healthy)(n, rng)

    def _storage(self) -> _Target:
        target = _Target("oss1", "lustre")
        for n in range(TARGETS):
            ost = {"system": "lustre", "fs": "scratch", "target": f"OST{n:04d}", "side": "server"}
            broken = n == 1
            seconds: Value = self._event(_about(4.0), 60.0) if broken else _about(4.0)
            moved = self._event(_about(1e9), 2e7) if broken else _about(1e9)
            target.counter("storage_read_bytes_total", ost, moved)
            target.counter("storage_written_bytes_total", ost, self._with_checkpoints(moved))
            for op in ("read", "write"):
                rate: Value = self._event(_about(400.0), 300.0) if broken else _about(400.0)
                target.counter("storage_operations_total", {**ost, "op": op}, rate)
                target.counter("storage_operation_duration_seconds_count", {**ost, "op": op}, rate)
                target.counter("storage_operation_duration_seconds_sum", {**ost, "op": op}, seconds)
            target.gauge("storage_available_bytes", ost, _about(5e14, 1e-6))
            target.gauge("storage_capacity_bytes", ost, _constant(1e15))
        mdt = {"system": "lustre", "fs": "scratch", "target": "MDT0000", "side": "server"}
        target.counter("storage_operations_total", {**mdt, "op": "open"}, self._event(_about(800.0), 12_000.0))
        return target

    def _with_checkpoints(self, usual: Value) -> Value:
        """Checkpoints are written to the targets."""
        return lambda n, rng: usual(n, rng) * (6.0 if any(self._pauses(job, n) for job in JOBS) else 1.0)


def _clock(slow: range) -> Value:
    return lambda n, rng: 1.4e9 if n in slow else 1.98e9


def _constant(value: float) -> Value:
    return lambda n, rng: value


def _about(value: float, share: float = 0.02) -> Value:
    """Noise of a share of the value, no further than three times that."""
    return lambda n, rng: value * (1.0 + share * float(np.clip(rng.normal(), -3.0, 3.0)))


def _batch(
    table: SeriesTable, number: int, at_ns: int, values: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> SampleBatch:
    rows = np.arange(len(table), dtype=np.uint32)
    return SampleBatch(table, Collection(START_NS, number, at_ns, 0.05), np.full(rows.size, at_ns), rows, values)


def _absent(batch: SampleBatch, before: Mapping[str, SampleBatch]) -> SampleBatch:
    """A GPU and a port that vanish from their targets, and a target that repeats itself."""
    if batch.table.device in FROZEN:
        return replace(batch, values=before[batch.table.device].values)
    return _without(batch, *VANISHING)


def _without(batch: SampleBatch, *labels: str) -> SampleBatch:
    """Without the series that have any of these labels."""
    keys = [batch.table.keys[number] for number in batch.series]
    rows = np.flatnonzero([not any(label in key for label in labels) for key in keys])
    return replace(batch, times_ns=batch.times_ns[rows], series=batch.series[rows], values=batch.values[rows])


def _facts() -> list[TopologyFact]:
    hosts = [f"node{n}" for n in range(HOSTS)]
    entities: list[Entity] = [
        Device("leaf1", Role.LEAF, rack="r0"),
        Device("leaf2", Role.LEAF, rack="r0"),
        Device("oss1", Role.STORAGE, rack="r0"),
        *(Device(f"spine{n}", Role.SPINE, rack="r0") for n in range(SPINES)),
        *(Device(host, Role.HOST, rack="r1") for host in hosts),
        *(Link("leaf1", f"Ethernet{n}", host, "mlx5_0", 400e9) for n, host in enumerate(hosts)),
        *(Link("leaf1", f"Ethernet{100 + n}", f"spine{n}", "Ethernet0", 400e9) for n in range(SPINES)),
        *(Gpu(host, f"GPU-{h}-{n}", n, "mlx5_0") for h, host in enumerate(hosts) for n in range(GPUS)),
        Device("leaf3", Role.LEAF, rack="r2"),
        Device("node9", Role.HOST, rack="r2"),
        Link("leaf3", "Ethernet0", "node9", "mlx5_0", 400e9),
        *(Mount(host, "scratch") for host in hosts),
        *(StorageTarget("scratch", f"OST{n:04d}", "oss1") for n in range(TARGETS)),
        *(Job(name, nodes, "train", "ada", started_ns=START_NS - 3600 * NS) for name, nodes in JOBS.items()),
    ]
    return [TopologyFact(entity, START_NS - NS, "inventory") for entity in entities]


FACTS = _facts()
CHANGES = [Change("c1", ChangeKind.JOB_START, (job_object("7"),), START_NS + 50 * NS)]
