"""GPUs that DCGM reads every 30 s while everything else comes every 5 s: its samples and clear times are its own."""

import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import SECOND, START_NS, batch, clockwork, run, table

READ_S, LASTS_S = 30, 1200
HOT_FROM_S, HOT_UNTIL_S = 600, 780
GPUS = ("GPU-0", "GPU-1", "GPU-2", "GPU-3")
KEYS = [
    *(series_key("gpu_energy_joules_total", {"device": "node1", "gpu": gpu}) for gpu in GPUS),
    series_key("gpu_throttle_seconds_total", {"device": "node1", "gpu": "GPU-0", "reason": "thermal"}),
]


def throttled(scraped_s: int) -> list[tuple[float, FindingState, float]]:
    """When something is published after the start, of a GPU that is held down by heat for three minutes."""
    of, batches = table("node1", KEYS, "dcgm"), []
    for seq in range(LASTS_S // scraped_s):
        read_s = seq * scraped_s // READ_S * READ_S
        hot_s = min(max(0, read_s - HOT_FROM_S), HOT_UNTIL_S - HOT_FROM_S)
        values = [*(600.0 * read_s + 1e6 + n for n in range(len(GPUS))), 1.0 + 0.3 * hot_s]
        batches.append(batch(of, seq, values, at_s=seq * scraped_s))
    clock = [each for second in (1, 6) for each in clockwork(second, range(LASTS_S // 10))]
    engine, found = Engine(EngineConfig(interval_s=5.0)), []
    for each in sorted([*batches, *clock], key=lambda each: each.collection.collected_ns):
        for output in run(engine, [each]):
            if isinstance(output, Finding) and output.kind is FindingKind.GPU_THROTTLED:
                found.append((output.observed_ns / SECOND - START_NS / SECOND, output.state, output.cadence_s))
            elif isinstance(output, Finding):
                assert output.kind is not FindingKind.TARGET_FROZEN
    return found


@pytest.mark.parametrize("scraped_s", [5, 10, 15, 30])
def test_two_samples_in_a_row_and_three_without_are_those_of_dcgm(scraped_s: int) -> None:
    found = throttled(scraped_s)
    assert [(at_s, state) for at_s, state, _ in found if at_s in (found[0][0], found[-1][0])] == [
        (HOT_FROM_S + 2 * READ_S, FindingState.ACTIVE),
        (HOT_UNTIL_S + 3 * READ_S, FindingState.CLEARED),
    ]
    assert {cadence_s for _, _, cadence_s in found} == {READ_S}
