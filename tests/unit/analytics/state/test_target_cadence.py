"""What is learned of the collections of targets: their interval, how long silence is normal, how long they repeat."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from analytics.config import EngineConfig
from analytics.engine import Engine
from analytics.snapshot import snapshot
from analytics.state.target_cadence import SILENT_S_MAX
from telemetry.samples import Collection, DownReason, SampleBatch
from tests.unit.analytics.small_cluster import CONFIG, SECOND, START_NS, port_key, run, table

HOURS = 6


def collected(name: str, times_s: Iterable[tuple[int, float]], down: frozenset[int] = frozenset()) -> list[SampleBatch]:
    """Collections of one target by (sequence number, time); those in ``down`` failed."""
    of = table(name, [port_key("fabric_port_receive_bytes_total", device=name)])
    found = []
    for seq, at_s in times_s:
        at_ns, size = START_NS + round(at_s * SECOND), 0 if seq in down else 1
        collection = Collection(START_NS, seq, at_ns, 0.1, DownReason.TIMEOUT if seq in down else None)
        values = np.full(size, 1e9 * seq)
        found.append(SampleBatch(of, collection, np.full(size, at_ns), np.zeros(size, np.uint32), values))
    return found


def engine_after(*streams: list[SampleBatch], config: EngineConfig = CONFIG) -> Engine:
    engine = Engine(config)
    run(engine, sorted((each for stream in streams for each in stream), key=lambda each: each.collection.collected_ns))
    return engine


def figure(engine: Engine, name: str, column: str) -> float:
    target = engine.registry.targets.get(f"gnmi/{name}")
    assert target is not None
    return float(engine.targets.columns[column][target])


def every(seconds: float, count: int, lost: frozenset[int] = frozenset()) -> list[tuple[int, float]]:
    return [(seq, seq * seconds) for seq in range(count) if seq not in lost]


@pytest.mark.parametrize("seconds", [1.0, 10.0, 15.0, 60.0])
def test_each_target_has_an_interval_of_its_own(seconds: float) -> None:
    engine = engine_after(collected("a", every(seconds, round(300 / seconds))), collected("clock", every(10.0, 40)))
    assert figure(engine, "a", "usual_s") == pytest.approx(seconds)
    assert figure(engine, "a", "silent_after_s") == pytest.approx(max(2.5 * seconds, 12.5))


def test_a_gap_in_the_numbers_is_a_loss_and_no_longer_interval() -> None:
    engine = engine_after(collected("a", every(10.0, 30, lost=frozenset(range(1, 30, 2)))))
    assert figure(engine, "a", "usual_s") == pytest.approx(10.0)


def test_before_the_second_collection_the_longest_usual_default_is_assumed() -> None:
    engine = engine_after(collected("young", [(0, 0.0)]), collected("clock", every(10.0, 4)))
    assert figure(engine, "young", "usual_s") == 0.0
    assert figure(engine, "young", "silent_after_s") == 150.0


def lossy(name: str, seed: int, mean_s: float, every_s: float) -> list[SampleBatch]:
    """Nothing arrives for a while now and then: bursts that last ``mean_s`` on average, at every ``every_s``."""
    rng, lost, at = default_rng(seed), set[int](), 0.0
    while at < HOURS * 3600:
        at += rng.exponential(every_s)
        length_s = rng.exponential(mean_s)
        lost |= set(range(int(at / 10) + 1, int((at + length_s) / 10) + 1))
        at += length_s
    return collected(name, every(10.0, HOURS * 360, frozenset(lost)))


def test_silence_is_news_when_it_is_longer_than_the_losses_of_a_target_explain() -> None:
    """Bursts of 40 s, 5 % of the time: one that lasts 180 s longer than the first collection comes every 20 hours."""
    engine = engine_after(lossy("bad", 1, 40.0, 800.0), *(collected(f"good{n}", every(10.0, 2160)) for n in range(5)))
    assert 180.0 < figure(engine, "bad", "silent_after_s") <= SILENT_S_MAX
    assert figure(engine, "good0", "silent_after_s") < 0.75 * figure(engine, "bad", "silent_after_s")
    assert figure(engine, "good0", "losses") == 0.0


def test_one_long_outage_in_a_fleet_makes_nobody_patient() -> None:
    away = frozenset(range(300, 1800))
    engine = engine_after(
        collected("a", every(10.0, 2160, away)), *(collected(f"b{n}", every(10.0, 2160)) for n in range(40))
    )
    assert figure(engine, "b0", "silent_after_s") == 25.0
    assert figure(engine, "a", "losses") == pytest.approx(1.0, abs=0.05)
    assert figure(engine, "a", "lost_s") <= SILENT_S_MAX


def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    batches = collected("a", every(15.0, 40))
    whole, first, second = engine_after(batches), engine_after(batches[:20]), Engine(CONFIG)
    snapshot.save(tmp_path / "snapshot", first, snapshot.Mark({}, 0))
    snapshot.load(tmp_path / "snapshot", second)
    run(second, batches[20:])
    kept, known = (engine.blocks["cadence"].part.state().arrays for engine in (second, whole))
    assert {name: array.tolist() for name, array in kept.items()} == {
        name: array.tolist() for name, array in known.items()
    }
    assert figure(second, "a", "usual_s") == 15.0
