"""Multivariate models in the engine: which devices they name, from when on, and that results can be repeated."""

import numpy as np
import pytest

from analytics.detectors.multivariate.training import ROWS_MIN
from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import FindingKind
from tests.unit.analytics.models.multivariate.cluster import (
    FAULT_ROUND,
    HOT,
    ROUNDS,
    collections,
    config,
    findings,
    play,
)
from tests.unit.analytics.restart import restarted, saved
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS

BATCHES = collections()
METHODS = ("ellipse", "forest")
REFERENCE = {method: play(Engine(config(method=method)), BATCHES) for method in METHODS}
DURING_TRAINING = 190
CUTS = [(3, "ellipse"), (DURING_TRAINING, "ellipse"), (263, "ellipse"), (DURING_TRAINING, "forest")]


def test_a_gpu_hotter_than_its_power_explains_is_named_with_its_temperature_first() -> None:
    found = findings(Engine(config()), BATCHES)
    assert {finding.object for finding in found} == {objects.gpu("node1", HOT)}
    first = found[0]
    assert first.kind is FindingKind.DEVIATION
    assert first.detector == "multivariate_gpu"
    assert first.confidence <= 0.3
    assert first.onset_ns >= START_NS + FAULT_ROUND * INTERVAL_S * SECOND
    assert len(first.evidence) == 3
    assert first.evidence[0].series.startswith(("gpu_temperature_celsius", "temperature per power"))
    (celsius,) = (e for e in first.evidence if e.series.startswith("gpu_temperature_celsius"))
    assert celsius.normal is not None
    assert celsius.value - celsius.normal == pytest.approx(12.0, abs=4.0)


def test_healthy_devices_give_no_finding() -> None:
    assert findings(Engine(config()), collections(hotter=0.0)) == []


@pytest.mark.parametrize(("method", "chunk"), [("ellipse", 7), ("ellipse", len(BATCHES)), ("forest", 100)])
def test_portions_do_not_matter(method: str, chunk: int) -> None:
    assert play(Engine(config(method=method)), BATCHES, chunk) == REFERENCE[method]


@pytest.mark.parametrize(("cut", "method"), CUTS)
def test_a_restart_does_not_matter_not_even_during_training(cut: int, method: str) -> None:
    engine = Engine(config(method=method))
    before = play(engine, BATCHES[:cut])
    assert before + play(restarted(engine, Engine(engine.config)), BATCHES[cut:]) == REFERENCE[method]


def test_that_moment_is_during_training() -> None:
    engine = Engine(config())
    play(engine, BATCHES[:DURING_TRAINING])
    head, arrays = engine.blocks["multivariate.gpu.model"].part.state()
    assert head["begun_ns"]
    assert len(arrays["vectors"]) >= ROWS_MIN


def test_the_state_of_a_restarted_engine_packs_to_the_same_bytes() -> None:
    engine = Engine(config(method="forest"))
    play(engine, BATCHES)
    assert saved(restarted(engine, Engine(engine.config))) == saved(engine)


def test_the_snapshot_holds_the_model_as_numbers() -> None:
    engine = Engine(config(method="forest"))
    play(engine, BATCHES)
    head, arrays = engine.blocks["multivariate.gpu.model"].part.state()
    assert head["model"]["method"] == "forest"
    assert {array.dtype.kind for array in arrays.values()} <= {"f", "i", "u"}


def test_no_model_before_there_is_enough_healthy_history() -> None:
    engine = Engine(config())
    (model,) = engine.multivariate.models
    for each in BATCHES:
        had = model.history.size
        engine.observe(each)
        engine.advance()
        if model.training.model is None and engine.window.watermark_ns < START_NS + 600 * SECOND:
            assert not model.training.state()[0]["begun_ns"]
    assert model.training.model is not None
    assert model.training.model.rows >= ROWS_MIN
    assert had >= ROWS_MIN


def test_never_a_model_when_the_history_is_too_short() -> None:
    engine = Engine(config(learn_s=ROUNDS * INTERVAL_S * 2.0))
    play(engine, BATCHES)
    assert engine.multivariate.models[0].training.model is None


def test_a_device_with_another_finding_and_its_peers_are_not_learned_from() -> None:
    engine = Engine(config())
    play(engine, BATCHES[:200])
    (model,) = engine.multivariate.models
    engine.multivariate._unhealthy["f1"] = "device:node1"
    before = model.history.size
    play(engine, BATCHES[200:212])
    of_one_host = model.history.size - before
    assert 0 < of_one_host <= 8 * 3
    assert np.isfinite(model.history.vectors()).all()


def test_switched_off_it_keeps_nothing() -> None:
    engine = Engine(config(kinds=()))
    play(engine, BATCHES[:20])
    assert not engine.multivariate.blocks
    assert engine.multivariate.state() == ({}, {})
