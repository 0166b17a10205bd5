"""Compiles and loads what the engine calls before there is anything to judge.

On the first start after an installation that takes half a minute; later starts find it on disk, as does the first one
after ``python -m analytics.warm_up``. Without this the pauses would come during work, each when something is needed for
the first time, and so would 80 MiB of memory when the first model is trained, half an hour after the start.
"""

from functools import cache
from importlib import import_module

import numpy as np

from analytics.config import EngineConfig
from analytics.engine import Engine
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Role, TopologyFact

_HOST, _GPUS = "warm-up", 8
_QUEUE = series_key("fabric_queue_occupancy_bytes", {"device": _HOST, "port": "1", "queue": "3"})
_METRICS = (
    "gpu_utilization_ratio",
    "gpu_sm_clock_hertz",
    "gpu_tensor_active_ratio",
    "gpu_sm_active_ratio",
    "gpu_power_watts",
    "gpu_temperature_celsius",
    "gpu_memory_used_bytes",
    "gpu_pcie_replays_total",  # has an anomaly score
    "gpu_remapped_rows_total",  # … and a forecast
)
_ROUNDS = 16  # of collections: some history comes first …
_LATER_NS = 2 * 3600 * 10**9  # … and then time enough for a forecast


@cache
def warm_up() -> None:
    """Runs an engine of its own on one synthetic host at work, once in a process."""
    import_module("sklearn.ensemble")  # trains the models of devices
    config = EngineConfig()
    engine = Engine(config)
    gpus = [f"GPU-{number}" for number in range(_GPUS)]
    keys = [series_key(metric, {"device": _HOST, "gpu": gpu}) for metric in _METRICS for gpu in gpus]
    keys.append(_QUEUE)  # of a fabric's detectors, which are asked from the first switch on
    entities: list[Entity] = [Device(_HOST, Role.HOST), Job(_HOST, (_HOST,), _HOST, _HOST, started_ns=0)]
    entities += [Gpu(_HOST, gpu, number) for number, gpu in enumerate(gpus)]
    engine.add_facts([TopologyFact(entity, 0, _HOST) for entity in entities])
    table = SeriesTable(_HOST, _HOST, tuple(keys))
    rows = np.arange(len(keys), dtype=np.uint32)
    for number in range(1, _ROUNDS):
        at_ns = number * config.interval_ns + (_LATER_NS if number > _ROUNDS - 3 else 0)
        values = np.linspace(0.7, 0.9, len(keys)) + 0.01 * (number % 3)
        engine.observe(SampleBatch(table, Collection(0, number, at_ns, 0.0), np.full(rows.size, at_ns), rows, values))
        engine.advance()


if __name__ == "__main__":
    warm_up()
