"""What a changed setting costs: every setting of analytics is changed, and what begins again is what the docs say."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytics.config import AnalyticsConfig, EngineConfig
from analytics.engine import Engine
from analytics.snapshot import state_file
from analytics.snapshot.fit import Cause, settings_of
from analytics.snapshot.snapshot import Loaded
from analytics.worker import Worker
from telemetry import catalogue, topics
from telemetry.incidents import Incident, IncidentState
from tests.unit.analytics.snapshot.kept import MARK, NEWEST, ROUNDS, batches, loaded, observed, open_incidents

PAGE = Path(__file__).parents[4] / "docs" / "state.md"
# Another value of each setting of the engine, by its path.
OTHER: dict[str, Any] = {
    "interval_s": 5.0,
    "holdback_s": 7.0,
    "series_max": 1_000_000,
    "series_ttl_s": 7200.0,
    "baseline_horizon_s": 3600.0,
    "baseline_follow_s": 3600.0,
    "reported_follow_s": 7200.0,
    "detection.lossless_queues": ("5",),
    "detection.link_bits_per_second": 100e9,
    "detection.pause_ratio_max": 0.5,
    "detection.pause_threshold_bytes": 1e6,
    "detection.collective_baseline_share": 0.8,
    "detection.trend_horizon_days": 7.0,
    "detection.trend_history_days": 7.0,
    "detection.scored": {"nic_pcie_stalled_ratio": 0.5},
    "multivariate.kinds": ("gpu", "host"),
    "multivariate.method": "forest",
    "multivariate.learn_s": 600.0,
    "multivariate.train_every_s": 600.0,
}
# … and of the stage around it.
AROUND: dict[str, Any] = {
    "snapshot_every_s": 1.0,
    "report_every_s": 1.0,
    "records_max": 10,
    "aligned_samples_max": 10,
    "instance": "other",
}


def with_setting(path: str, value: Any) -> EngineConfig:
    section, _, name = path.rpartition(".")
    changed = {section: {name: value}} if section else {name: value}
    return EngineConfig.model_validate(changed)


def changed(path: str) -> tuple[Engine, Loaded]:
    return loaded(NEWEST, with_setting(path, OTHER[path]))


def documented() -> dict[str, list[str]]:
    """Blocks by setting, of the table on the page."""
    _, table = PAGE.read_text().split("## What a changed setting costs")
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", table, re.MULTILINE)
    return {path: [] if cell == "nothing" else re.findall(r"`([^`]+)`", cell) for path, cell in rows}


def test_every_setting_is_changed_here() -> None:
    assert OTHER.keys() == settings_of(EngineConfig()).keys()
    assert AROUND.keys() == AnalyticsConfig.model_fields.keys() - {"engine", "state_dir"}


def test_the_page_names_every_setting() -> None:
    assert documented().keys() == OTHER.keys()


@pytest.mark.parametrize("path", OTHER)
def test_a_changed_setting_costs_what_the_page_says(path: str) -> None:
    _, found = changed(path)
    assert [*found.begun_again] == documented()[path]
    for why in found.begun_again.values():
        assert why.cause is Cause.SETTING
        assert f"setting {path} changed from " in why.text


@pytest.mark.parametrize("path", OTHER)
def test_whatever_setting_changes_time_and_incidents_go_on(path: str) -> None:
    before, _ = loaded(NEWEST)
    engine, found = changed(path)
    assert found.mark == MARK
    assert open_incidents(engine) == open_incidents(before)
    assert engine.findings.active() == before.findings.active()
    assert engine.window.watermark_ns == before.window.watermark_ns
    assert engine.counts == before.counts
    assert engine.registry.keys == before.registry.keys
    for name in ("raw", "raw_ns", "value", "streak"):
        assert np.array_equal(engine.series.columns[name], before.series.columns[name], equal_nan=True)


@pytest.mark.parametrize("path", OTHER)
def test_what_fits_is_as_it_was(path: str) -> None:
    before, _ = loaded(NEWEST)
    engine, found = changed(path)
    for name, block in engine.blocks.items():
        if name in found.begun_again or name in NOT_COMPARED or name not in before.blocks:
            continue
        state, known = block.part.state(), before.blocks[name].part.state()
        assert state.head == known.head, name
        for column, array in known.arrays.items():
            if not (path == "detection.scored" and name == "scores"):
                assert np.array_equal(state.arrays[column], array, equal_nan=array.dtype.kind == "f"), (name, column)


# Ticks of another length have other numbers; findings and incidents are compared above.
NOT_COMPARED = ("window", "findings")


@pytest.mark.parametrize("path", AROUND)
def test_settings_around_the_engine_cost_nothing(tmp_path: Path, path: str) -> None:
    (tmp_path / "analytics.snapshot").write_bytes(NEWEST.read_bytes())
    config = AnalyticsConfig(state_dir=tmp_path, **{path: AROUND[path]})
    assert Worker(config, topics.TOPOLOGY).load(5) == "snapshot loaded"


@pytest.mark.parametrize("interval_s", [5.0, 7.3, 20.0])
def test_incidents_end_with_their_ids_at_another_interval(interval_s: float) -> None:
    engine, _ = loaded(NEWEST, EngineConfig(interval_s=interval_s))
    before = open_incidents(engine)
    outputs = observed(engine, batches(ROUNDS, 62))
    incidents = [one for one in outputs if isinstance(one, Incident)]
    ended = {one.id for one in incidents if one.state is IncidentState.RESOLVED}
    assert before.keys() <= ended | open_incidents(engine).keys()
    assert len(ended & before.keys()) >= 2
    counts = engine.counts
    assert counts.samples_in == counts.processed + counts.deduplicated + counts.held + sum(counts.dropped.values())
    assert not counts.dropped


def test_a_metric_that_is_scored_no_more_loses_its_scores_and_the_others_keep_theirs() -> None:
    before, _ = loaded(NEWEST)
    engine, found = changed("detection.scored")
    assert not found.begun_again
    kept = engine.registry.select("nic_pcie_stalled_ratio")
    scored = np.flatnonzero(engine.series.columns["slot"] >= 0)
    assert scored.tolist() == kept.tolist() != np.flatnonzero(before.series.columns["slot"] >= 0).tolist()
    assert engine.series.columns["slot"][kept].tolist() == [*range(kept.size)]
    of_before = before.series.parts["scores"].state().arrays["records/core"][before.series.columns["slot"][kept]]
    assert np.array_equal(engine.series.parts["scores"].state().arrays["records/core"], of_before)


def test_only_series_of_a_metric_that_is_defined_in_another_way_begin_again(tmp_path: Path) -> None:
    head, arrays = state_file.read(NEWEST)
    head["metrics"]["gpu_power_watts"] = "gauge kilowatts 64 0"
    head["metrics"]["gpu_smell_ratio"] = "gauge ratio 64 0"  # of a version that had it
    state_file.write(tmp_path / "snapshot", head, arrays)
    assert "gpu_power_watts" in catalogue.metrics()
    before, _ = loaded(NEWEST)
    engine, found = loaded(tmp_path / "snapshot")
    gone = {key for key in before.registry.keys if key.startswith("gpu_power_watts{")}
    assert set(engine.registry.keys) == set(before.registry.keys) - gone
    assert len(gone) == 16
    assert list(found.begun_again) == ["multivariate.gpu", "multivariate.gpu.model"]
    old = dict(zip(before.registry.keys, before.series.columns["raw"].tolist(), strict=True))
    new = dict(zip(engine.registry.keys, engine.series.columns["raw"].tolist(), strict=True))
    assert new == {key: raw for key, raw in old.items() if key not in gone}
    observed(engine, batches(ROUNDS, ROUNDS + 2))
    assert set(before.registry.keys) <= set(engine.registry.keys)  # the cluster of today has more
