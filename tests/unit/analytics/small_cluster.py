"""A small synthetic cluster for tests: deterministic batches, no physics."""

from collections.abc import Iterable, Sequence

import numpy as np

from analytics.config import EngineConfig
from analytics.engine import Engine, Output
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Mount, Role

SECOND = 10**9
START_NS = 1_700_000_000 * SECOND
INTERVAL_S = 10
CONFIG = EngineConfig(interval_s=INTERVAL_S)


def writing_job(hosts: Sequence[str], gpus: int) -> list[Entity]:
    """Job 7 on these hosts, of so many GPUs each, which have mounted the file system scratch."""
    entities: list[Entity] = [Job("7", tuple(hosts), "train", "ada", started_ns=START_NS)]
    for host in hosts:
        entities += [Device(host, Role.HOST), Mount(host, "scratch")]
        entities += [Gpu(host, f"GPU-{host}-{n}", n, "") for n in range(gpus)]
    return entities


def table(device: str, keys: Sequence[str], job: str = "gnmi") -> SeriesTable:
    return SeriesTable(f"{job}/{device}", device, tuple(keys))


def batch(of: SeriesTable, seq: int, values: Sequence[float], *, at_s: float | None = None) -> SampleBatch:
    """One collection of all series, ``seq`` intervals (or ``at_s`` seconds) after the start."""
    at_ns = START_NS + round((seq * INTERVAL_S if at_s is None else at_s) * SECOND)
    rows = np.arange(len(of), dtype=np.uint32)
    times_ns = np.full(len(of), at_ns, np.int64)
    return SampleBatch(of, Collection(START_NS, seq, at_ns, 0.1), times_ns, rows, np.array(values, np.float64))


def down(of: SeriesTable, seq: int, reason: DownReason = DownReason.REFUSED) -> SampleBatch:
    at_ns = START_NS + seq * INTERVAL_S * SECOND
    none = np.zeros(0)
    return SampleBatch(
        of, Collection(START_NS, seq, at_ns, 0.1, reason), none.astype(np.int64), none.astype(np.uint32), none
    )


def port_key(metric: str, port: str = "Ethernet0", device: str = "leaf1", **labels: str) -> str:
    return series_key(metric, {"device": device, "port": port, **labels})


def run(engine: Engine, batches: Iterable[SampleBatch]) -> list[Output]:
    """Observes all, one by one, and closes what can be closed."""
    outputs: list[Output] = []
    for each in batches:
        engine.observe(each)
        outputs.extend(engine.advance())
    assert not engine.detectors.failures
    return outputs


def clockwork(seconds: float, seqs: Iterable[int]) -> list[SampleBatch]:
    """A target that only serves to move the watermark on."""
    of = table("clock", [series_key("node_load_1m", {"device": "clock"})], "clock")
    return [batch(of, seq, [float(seq % 7)], at_s=seq * INTERVAL_S + seconds) for seq in seqs]


def judged(
    keys: Sequence[str], rows: Sequence[Sequence[float]], *, device: str = "leaf1", config: EngineConfig = CONFIG
) -> list[Output]:
    """What the engine says about one target that reports these values, one row a collection."""
    of = table(device, keys)
    engine = Engine(config)
    batches = [batch(of, seq, row) for seq, row in enumerate(rows)]
    return run(engine, [*batches, *clockwork(0, range(len(rows), len(rows) + 2))])
