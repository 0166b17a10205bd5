"""The score of each detector at one value, by the formula and the limit in its module; 1.0 is the limit."""

from math import exp, expm1, log1p

import pytest

from analytics.detectors.environment.inlet_hot import InletHot
from analytics.detectors.environment.part_failed import PartFailed
from analytics.detectors.fabric.bgp_session import BgpSession
from analytics.detectors.fabric.fec_budget import FecBudget, FecMargin
from analytics.detectors.fabric.ib_symbol_errors import IbSymbolErrors
from analytics.detectors.fabric.link_down import LinkDown
from analytics.detectors.fabric.link_errors import LinkErrors
from analytics.detectors.fabric.link_flapping import LinkFlapping
from analytics.detectors.fabric.link_slow import LinkSlow
from analytics.detectors.fabric.lossless_drops import LosslessDrops
from analytics.detectors.fabric.pause_storm import PauseStorm
from analytics.detectors.fabric.pfc_pause import pfc_pauses
from analytics.detectors.fabric.queue_congested import QueueCongested
from analytics.detectors.gpu.gpu_ecc import GpuEcc
from analytics.detectors.gpu.gpu_nvlink_errors import GpuNvlinkErrors
from analytics.detectors.gpu.gpu_pcie import GpuPcie
from analytics.detectors.gpu.gpu_power_limit import GpuPowerLimit
from analytics.detectors.gpu.gpu_row_remap import GpuRowRemap
from analytics.detectors.gpu.gpu_throttle import GpuThrottle
from analytics.detectors.gpu.gpu_xid import GpuXid
from analytics.detectors.gpu.program_error import ProgramError
from analytics.detectors.spec import Detector
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.series import series_key
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import INTERVAL_S, port_key

SPEED = 400e9
LINE = 1.0625 * SPEED  # bits a second on the wire
CODEWORDS = LINE / 5440
BER_MAX = 2.4e-4  # before FEC; a tenth of it is the margin
GPU = {"device": "node1", "gpu": "GPU-1"}
RECEIVED, SENT = pfc_pauses(0.05, SPEED)
BUDGET, MARGIN = FecBudget(bits_per_second=SPEED), FecMargin(bits_per_second=SPEED)


def rate(per_second: float) -> list[float]:
    """A counter that grows by this from its second value on."""
    return [0.0, 0.0, per_second * INTERVAL_S]


def grows(by: float) -> list[float]:
    return [0.0, 0.0, by]


def steps(before: float, after: float) -> list[float]:
    return [before, before, after]


def goes_on(per_second: float, samples: int) -> list[float]:
    """A rate that lasts for so many samples."""
    return [0.0, *(per_second * INTERVAL_S * n for n in range(samples + 1))]


def pause(metric: str, direction: str) -> str:
    return port_key(metric, priority="3", direction=direction)


def errors(severity: str) -> str:
    return series_key("gpu_ecc_errors_total", {**GPU, "severity": severity, "persistence": "volatile"})


def of_gpu(metric: str, **labels: str) -> str:
    return series_key(metric, {**GPU, **labels})


PRE_FEC = port_key("fabric_port_bit_error_ratio", stage="pre_fec")
CORRECTED_CODEWORDS = port_key("fabric_port_fec_corrected_codewords_total")
SYMBOLS = series_key("ib_port_symbol_errors_total", {"device": "node1", "port": "mlx5_0"})
SEVERITY = series_key("node_sensor_severity", {"device": "node1", "sensor": "PSU 1", "kind": "power"})

SCORES: list[tuple[Detector, str, list[float], float]] = [
    # Share of time: one sample where it is eight times the limit, else two. Frames pause for at most 65535 quanta of
    # 512 bit times, and count half as much: more samples.
    (RECEIVED, pause("fabric_port_pfc_pause_seconds_total", "rx"), rate(0.5), 0.5 / 0.05),
    (RECEIVED, pause("fabric_port_pfc_pause_seconds_total", "rx"), goes_on(0.1, 2), 0.1 / 0.05),
    (SENT, pause("fabric_port_pfc_pause_frames_total", "tx"), goes_on(1000, 4), 1000 * 65535 * 512 / SPEED / 0.05),
    (SENT, pause("fabric_port_pfc_pause_frames_total", "tx"), goes_on(1e6, 2), 1.0 / 0.05),
    (LosslessDrops(queues=("3",)), port_key("fabric_queue_dropped_packets_total", queue="3"), rate(50), 1 + 50 / 100),
    (QueueCongested(threshold_bytes=8e6), port_key("fabric_queue_occupancy_bytes"), [0, 8e6, 8e6], 1 / 0.8),
    (PauseStorm(bits_per_second=SPEED), port_key("fabric_pfc_watchdog_storms_total", queue="3"), grows(1), 1.0),
    (PauseStorm(bits_per_second=SPEED), port_key("fabric_pfc_watchdog_storms_total", queue="3"), grows(3), 3.0),
    (LinkDown(), port_key("fabric_port_up"), steps(1, 0), 1.0),
    (LinkSlow(), port_key("fabric_port_speed_bits_per_second"), steps(4e11, 2e11), 0.99 * 2),
    (LinkFlapping(), port_key("fabric_port_flaps_total"), grows(5), 5 / 2.5),
    (LinkFlapping(), port_key("fabric_port_flaps_total"), grows(50), 10 / 2.5),  # the most that is remembered
    (LinkFlapping(), port_key("ib_port_link_downed_total"), grows(2), 4 / 2.5),  # outages, two changes each
    (LinkFlapping(), port_key("ib_port_link_downed_total"), grows(50), 10 / 2.5),
    (LinkErrors(), port_key("fabric_port_fec_uncorrectable_codewords_total"), rate(0.3), 0.3 / 0.1),
    (LinkErrors(), SYMBOLS, rate(3), 3 / 1.0),
    # Bits and symbols are as many errors; a codeword is corrected with probability 1 - (1 - BER)^5440.
    (BUDGET, PRE_FEC, [*steps(0, 2 * BER_MAX), 2 * BER_MAX], 2.0),
    (BUDGET, port_key("fabric_port_fec_corrected_bits_total"), goes_on(2 * BER_MAX * LINE, 2), 2.0),
    (BUDGET, port_key("fabric_port_fec_symbol_errors_total"), goes_on(3 * BER_MAX * LINE, 2), 3.0),
    (BUDGET, CORRECTED_CODEWORDS, goes_on(-expm1(-5440 * 2 * BER_MAX) * CODEWORDS, 2), 2.0),
    (BUDGET, CORRECTED_CODEWORDS, goes_on(CODEWORDS, 2), -log1p(-0.999) / 5440 / BER_MAX),
    # A decade over what it was, once that is known; 5e-6 is 2.08 times two decades below the limit.
    (BUDGET, PRE_FEC, [2e-7] * 20 + [5e-6] * 2, 5e-6 / (BER_MAX / 100)),
    (BUDGET, PRE_FEC, [0.0] * 20 + [5e-6] * 2, 5e-6 / (BER_MAX / 100)),
    (BUDGET, PRE_FEC, [4e-7] * 20 + [5e-6] * 2, 5e-6 / 4e-6),
    (MARGIN, PRE_FEC, steps(0, 0.3 * BER_MAX), 3.0),
    (MARGIN, PRE_FEC, [2e-9] * 20 + [1e-6], 5.0),
    (MARGIN, port_key("fabric_port_fec_corrected_bits_total"), rate(0.2 * BER_MAX * LINE), 2.0),
    # Ten times 1e-15 of the bits of an hour are 14.4 errors.
    (IbSymbolErrors(bits_per_second=SPEED), SYMBOLS, grows(28.8), 28.8 / 14.4),
    (IbSymbolErrors(bits_per_second=1e9), SYMBOLS, grows(72), 72 / 36),  # 1e-12 of a slow link without FEC
    (IbSymbolErrors(bits_per_second=1e6), SYMBOLS, grows(30), 30 / 10),  # ten errors at least
    (IbSymbolErrors(bits_per_second=SPEED), SYMBOLS, [*grows(1000), *[1000.0] * 12], 4 * exp(-120 / 3600)),
    (BgpSession(), series_key("fabric_bgp_session_up", {"device": "leaf1", "peer": "10.0.0.1"}), steps(1, 0), 1.0),
    (GpuThrottle(), of_gpu("gpu_throttle_seconds_total", reason="thermal"), rate(0.25), 0.25 / 0.1),
    (GpuThrottle(), of_gpu("gpu_throttle_active", reason="thermal"), steps(0, 1), 1.0),
    (GpuXid(), of_gpu("gpu_xid_last"), steps(0, 79), 3.0),
    (ProgramError(), of_gpu("gpu_xid_last"), steps(0, 31), 1.0),
    (GpuXid(), of_gpu("gpu_xid_last"), steps(79, 8), 1.5),
    (GpuEcc(), errors("correctable"), grows(20), 20 / 10),
    (GpuEcc(), errors("correctable"), grows(1000), 40 / 10),
    (GpuEcc(), errors("uncorrectable"), grows(1), 3.0),
    (GpuRowRemap(), of_gpu("gpu_row_remap_failed"), steps(0, 1), 4.0),
    (GpuRowRemap(), of_gpu("gpu_row_remap_pending"), steps(0, 1), 2.0),
    (GpuRowRemap(), of_gpu("gpu_remapped_rows_total", cause="correctable"), grows(1), 1.5),
    (GpuNvlinkErrors(), of_gpu("gpu_nvlink_errors_total", kind="crc_flit"), rate(300), 300 / 100),
    (GpuNvlinkErrors(), of_gpu("gpu_nvlink_errors_total", kind="replay"), grows(2), 2.0),
    (GpuNvlinkErrors(), of_gpu("gpu_nvlink_errors_total", kind="replay"), grows(0.5), 1.0),  # one is a failure
    (GpuPcie(), of_gpu("gpu_pcie_lanes"), steps(16, 8), 0.99 * 2),
    (GpuPcie(), of_gpu("gpu_pcie_replays_total"), rate(0.4), 0.4 / (8 / 60)),
    (GpuPowerLimit(), of_gpu("gpu_power_limit_watts"), steps(700, 350), 0.95 * 2),
    (
        InletHot(),
        series_key("node_temperature_celsius", {"device": "node1", "sensor": "Inlet"}),
        steps(22, 42),
        42 / 35,
    ),
    (PartFailed(), series_key("fabric_device_part_ok", {"device": "leaf1", "sensor": "fan1"}), steps(1, 0), 2.0),
    (PartFailed(), SEVERITY, steps(0, 1), 1.0),
    (PartFailed(), SEVERITY, steps(0, 9), 2.0),
]

HEALTHY: list[tuple[Detector, str, list[float]]] = [
    (RECEIVED, pause("fabric_port_pfc_pause_seconds_total", "rx"), rate(0.049)),
    (RECEIVED, pause("fabric_port_pfc_pause_seconds_total", "tx"), rate(0.9)),
    (LosslessDrops(queues=("3",)), port_key("fabric_queue_dropped_packets_total", queue="0"), rate(50)),
    (RECEIVED, pause("fabric_port_pfc_pause_seconds_total", "rx"), rate(0.39)),
    (SENT, pause("fabric_port_pfc_pause_frames_total", "tx"), goes_on(1000, 3)),
    (SENT, pause("fabric_port_pfc_pause_frames_total", "tx"), goes_on(590, 9)),  # 4.95 % of the time at most
    (QueueCongested(threshold_bytes=8e6), port_key("fabric_queue_occupancy_bytes"), [0, 6.3e6, 6.3e6]),
    (QueueCongested(threshold_bytes=8e6), port_key("fabric_queue_occupancy_bytes"), steps(0, 8e6)),
    (LinkDown(), port_key("fabric_port_up"), steps(0, 0)),
    (LinkSlow(), port_key("fabric_port_speed_bits_per_second"), steps(4e11, 3.97e11)),
    (LinkSlow(), port_key("fabric_port_speed_bits_per_second"), steps(4e11, 0)),
    (LinkFlapping(), port_key("fabric_port_flaps_total"), grows(2)),
    (LinkFlapping(), port_key("ib_port_link_downed_total"), grows(1)),
    (BUDGET, port_key("fabric_port_bit_error_ratio", stage="post_fec"), [*steps(0, 2 * BER_MAX), 2 * BER_MAX]),
    (
        BUDGET,
        port_key("fabric_port_fec_corrected_bits_total"),
        goes_on(0.9 * BER_MAX * LINE, 2),
    ),  # its usual ratio is unknown
    (BUDGET, PRE_FEC, steps(0, 2 * BER_MAX)),  # one sample alone
    (BUDGET, PRE_FEC, [5e-6] * 20 + [4e-5] * 2),  # eight times as much
    (BUDGET, PRE_FEC, [1e-9] * 20 + [2e-6] * 2),  # still far from the limit
    (MARGIN, PRE_FEC, steps(0, 0.09 * BER_MAX)),
    (MARGIN, PRE_FEC, [1e-8] * 20 + [9e-7]),  # ninety times as much
    (MARGIN, PRE_FEC, [1e-12] * 20 + [9e-9]),  # few errors
    (IbSymbolErrors(bits_per_second=SPEED), SYMBOLS, grows(14)),
    (IbSymbolErrors(bits_per_second=SPEED), SYMBOLS, [*grows(1000), *[1000.0] * 20]),  # none for 200 s: they are over
    (GpuThrottle(), of_gpu("gpu_throttle_seconds_total", reason="power"), rate(0.9)),
    (GpuXid(), of_gpu("gpu_xid_last"), steps(79, 79)),
    (GpuXid(), of_gpu("gpu_xid_last"), steps(79, 0)),
    (GpuEcc(), errors("correctable"), grows(9)),
    (GpuEcc(), errors("uncorrectable"), [4.0, 4.0, 4.0]),
    (GpuNvlinkErrors(), of_gpu("gpu_nvlink_errors_total", kind="crc_flit"), rate(99)),
    (GpuPcie(), of_gpu("gpu_pcie_lanes"), steps(8, 16)),
    (InletHot(), series_key("node_temperature_celsius", {"device": "node1", "sensor": "Inlet"}), steps(22, 34)),
    (InletHot(), series_key("node_temperature_celsius", {"device": "node1", "sensor": "Exhaust"}), steps(22, 60)),
    (PartFailed(), SEVERITY, [2.0, 2.0, 2.0]),
]


def score(detector: Detector, key: str, values: list[float]) -> float:
    """The highest score at the last tick, 0 where nothing breaches."""
    memory = Memory(detector.memory)

    def judged(view: TickView) -> float:
        verdicts = detector.judge(view, memory)
        return max((float(one) for each in verdicts for one in each.score[each.breached]), default=0.0)

    device = key.partition('device="')[2].partition('"')[0]
    return at_each_tick(judged, collected([key], [[value] for value in values], device))[-2]


def names(row: object) -> str:
    return row.name if isinstance(row, Detector) else ""


@pytest.mark.parametrize(("detector", "key", "values", "expected"), SCORES, ids=names)
def test_the_score_is_that_of_the_formula(detector: Detector, key: str, values: list[float], expected: float) -> None:
    assert score(detector, key, values) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("detector", "key", "values"), HEALTHY, ids=names)
def test_what_is_below_the_limit_does_not_breach(detector: Detector, key: str, values: list[float]) -> None:
    assert score(detector, key, values) == 0.0
