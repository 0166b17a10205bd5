"""What every detector must keep to, whatever it looks for."""

from pathlib import Path

import numpy as np
import pytest

from analytics.config import DetectionConfig
from analytics.detectors import detectors
from analytics.detectors.spec import Detector
from analytics.engine import Engine
from analytics.state.view import Selections, View
from telemetry import catalogue
from tests.unit.analytics.busy_cluster import FACTS, batches
from tests.unit.analytics.small_cluster import CONFIG, SECOND, run

DOCS = Path(__file__).parents[4] / "docs" / "detection.md"
ALL = detectors(DetectionConfig())
each_detector = pytest.mark.parametrize("detector", ALL, ids=[detector.name for detector in ALL])


def view_of(engine: Engine, end_ns: int) -> View:
    parts = (engine.registry, engine.series, engine.targets, Selections(engine.registry), engine.topology)
    return View(end_ns, CONFIG, *parts)


def busy() -> Engine:
    engine = Engine(CONFIG)
    engine.learn(FACTS)
    run(engine, batches())
    return engine


def test_names_are_unique() -> None:
    assert len({detector.name for detector in ALL}) == len(ALL)


@each_detector
def test_its_metrics_are_in_the_catalogue(detector: Detector) -> None:
    assert set(detector.metrics) <= set(catalogue.metrics())


@each_detector
def test_it_says_nothing_about_an_empty_cluster(detector: Detector) -> None:
    for verdicts in detector.judge(view_of(Engine(CONFIG), SECOND)):
        assert verdicts.objects.size == 0
        assert not verdicts.breached.any()


@each_detector
def test_its_columns_fit_and_every_object_stands_once(detector: Detector) -> None:
    engine = busy()
    for verdicts in detector.judge(view_of(engine, engine.intake.watermark_ns)):
        n = verdicts.objects.size
        assert np.unique(verdicts.objects).size == n
        assert verdicts.times_ns.size == verdicts.breached.size == verdicts.score.size == n
        assert not np.isnan(verdicts.score).any()
        assert ((verdicts.score >= 1.0) == verdicts.breached).all()
        for evidence in verdicts.evidence:
            assert evidence.sids.size == evidence.values.size == evidence.normals.size == n


@each_detector
def test_it_does_not_judge_series_by_stale_values(detector: Detector) -> None:
    engine = busy()
    much_later_ns = engine.intake.watermark_ns + 3600 * SECOND
    for verdicts in detector.judge(view_of(engine, much_later_ns)):
        of_targets = np.isin(verdicts.objects, engine.registry.device_numbers())
        assert of_targets.all(), "only targets themselves may be judged when nothing is fresh"


@each_detector
def test_it_is_in_the_documentation(detector: Detector) -> None:
    assert f"`{detector.name}`" in DOCS.read_text()
