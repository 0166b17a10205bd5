"""Detectors pass over what neither breaches nor is watched: that may save work, and must not change what is told."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.engine import Engine
from telemetry.samples import SampleBatch
from tests.unit.analytics import busy_cluster, test_hostile_values
from tests.unit.analytics.small_cluster import run


def everything(engine: Engine) -> NDArray[np.bool_]:
    return np.ones(len(engine.registry.objects), bool)


@pytest.mark.parametrize("batches", [busy_cluster.batches(), test_hostile_values.hostile(5)], ids=["busy", "hostile"])
def test_the_same_is_told_when_everything_is_watched(
    batches: list[SampleBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, thorough = busy_cluster.new_engine(), busy_cluster.new_engine()
    usual.learn(busy_cluster.FACTS)
    thorough.learn(busy_cluster.FACTS)
    told = run(usual, batches)
    monkeypatch.setattr(Engine, "_watched", everything)
    assert run(thorough, batches) == told
    assert told
