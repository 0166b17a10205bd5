"""Collectors of NVML for tests, and what they collected by series."""

from typing import Any

from ingest.collectors.base import CollectorContext
from ingest.collectors.nvml.collector import NvmlCollector, nvml_collectors
from ingest.collectors.nvml.config import Config
from telemetry.samples import SampleBatch
from telemetry.series import series_key

NOW_NS = 1_760_000_000_000_000_000
GPU = "GPU-00000000-0000-4000-8000-000000000001"


def make(context: CollectorContext, **settings: Any) -> NvmlCollector:
    given = {"device": "node1", "timeout_s": 60.0, "interval_s": 60.0, **settings}
    (made,) = nvml_collectors([Config.model_validate(given)], context)
    return made


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def key(metric: str, gpu: str = GPU, **labels: str) -> str:
    return series_key(metric, {"device": "node1", "gpu": gpu, **labels})
