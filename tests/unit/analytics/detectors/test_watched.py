"""Detectors pass over what neither breaches nor is watched: that may save work, and must not change what is told."""

import pytest

from analytics.detectors.lifecycle import FindingTracker
from analytics.state.registry import Registry
from telemetry.samples import SampleBatch
from tests.unit.analytics import busy_cluster, test_hostile_values
from tests.unit.analytics.small_cluster import run


class Everything(FindingTracker):
    """All objects, as if each of them had a finding."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    def objects(self) -> set[str]:
        return set(self._registry.objects.names)


@pytest.mark.parametrize("batches", [busy_cluster.batches(), test_hostile_values.hostile(5)], ids=["busy", "hostile"])
def test_the_same_is_published_when_everything_is_watched(batches: list[SampleBatch]) -> None:
    usual, thorough = busy_cluster.new_engine(), busy_cluster.new_engine()
    usual.add_facts(busy_cluster.FACTS)
    thorough.add_facts(busy_cluster.FACTS)
    thorough.findings = Everything(thorough.registry)
    published = run(usual, batches)
    assert run(thorough, batches) == published
    assert published
