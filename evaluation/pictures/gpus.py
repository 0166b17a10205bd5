"""Clock and power of GPUs: those of a day, and one simulated GPU beside the recording of a real one."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from evaluation.pictures.day import Day, Floats
from evaluation.pictures.published import CONTEXT_WATTS
from evaluation.pictures.style import BLACK, BLUE, ORANGE, PUBLISHED, hour_axis, panels, save, spread
from simulator.cluster import SimulatedCluster
from simulator.compute.figures import COMPUTE, HANG, RECORDED, WAIT
from simulator.compute.gpus import IDLE_HERTZ, IDLE_WATTS, Gpus
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig

RECORDING = Path(__file__).parents[2] / "tests" / "data" / "h100"
MHZ, TICK_S = 1e6, 0.05
DENSER = replace(RECORDED, watts=1.22 * RECORDED.watts)  # matrix products: strength 1.22 of recorded-h100
POLL_S = 0.15  # of every step of train-comm


def recording(run: int = 1) -> pl.DataFrame:
    """One run of the recorded H100, with its seconds since the begin: tests/data/h100/README.md."""
    rows = pl.read_parquet(RECORDING / "nvml.parquet").filter(pl.col("run") == run)
    return rows.with_columns(((pl.col("time_ns") - pl.col("time_ns").first()) / 1e9).alias("second"))


def draw_gpus(day: Day, path: Path) -> None:
    """The day on the left; on the right how often each value is read, beside the phases of the recording."""
    figure, (clocks, clock_shares, power, power_shares) = panels(2, 2, 6.6, width_ratios=(2, 1))
    found = pl.concat([recording(1), recording(2)])
    held = np.where(day.held, day.hertz, np.nan) / MHZ
    spread(clocks, _by_minute(held), day.hours, BLUE, "held by the power limit")
    clocks.set_ylabel("SM clock, MHz")
    clocks.set_title("simulated, GPUs that the limit holds", fontsize=10, loc="left")
    spread(power, _by_minute(day.watts), day.hours, BLUE, "all GPUs")
    power.set_ylabel("power, W")
    for axes in (clocks, power):
        hour_axis(axes, day.hours)
        axes.legend(fontsize=8, framealpha=0.8, edgecolor="none", ncols=2, loc="lower left")
    clocks.set_ylim(1300, 2020)
    power.set_ylim(80, 720)
    work = found.filter(pl.col("phase").is_in(["train", "train-comm", "decode", "idle-context"]))
    running = day.hertz[day.hertz > IDLE_HERTZ] / MHZ
    _histogram(clock_shares, running, work["sm_clock_mhz"].to_numpy(), (1095, 2026, 30), "MHz, all with a process")
    _histogram(power_shares, day.watts, found["power_usage_mw"].to_numpy() / 1e3, (0, 761, 20), "W, all readings")
    context = (IDLE_WATTS + CONTEXT_WATTS.low, IDLE_WATTS + CONTEXT_WATTS.high)
    power_shares.axvspan(*context, color=PUBLISHED, alpha=0.3, lw=0)
    power_shares.annotate("context [1]", (context[1] + 8, 0.93), xycoords=("data", "axes fraction"), color=PUBLISHED)
    save(figure, path)


def _by_minute(values: Floats) -> Floats:
    """[B, 6 G]: the readings of each minute side by side."""
    minutes = values.shape[0] // 6
    return values[: 6 * minutes].reshape(minutes, -1)


def _histogram(axes: Axes, simulated: Floats, recorded: Floats, limits: tuple[float, float, float], unit: str) -> None:
    edges = np.arange(*limits)
    for values, colour, name in ((recorded, BLACK, "recorded H100"), (simulated, BLUE, "simulated")):
        parts = np.histogram(values, edges)[0] / values.size
        axes.stairs(100 * parts, edges, color=colour, lw=1.2, label=name)
    axes.set_yscale("log")
    axes.set_ylim(0.05, 90)
    axes.set_xlabel(unit)
    axes.set_ylabel("readings, %")
    axes.legend(fontsize=8, framealpha=0.8, edgecolor="none", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)


def draw_recording(path: Path) -> None:
    """The recorded H100 through its phases, and a simulated GPU with recorded-h100 that does the same."""
    figure, (clock, power, heat) = panels(3, 1, 7.2, sharex=True)
    rows = recording()
    simulated = np.array(list(replay(rows)))
    seconds = rows["second"].to_numpy()
    for axes, column, scale, at, unit in (
        (clock, "sm_clock_mhz", 1.0, 0, "SM clock, MHz"),
        (power, "power_usage_mw", 1e-3, 1, "power, W"),
        (heat, "gpu_temp_c", 1.0, 2, "temperature, °C"),
    ):
        fewer = slice(None, None, 5)
        axes.plot(seconds[fewer], rows[column].to_numpy()[fewer] * scale, color=BLACK, lw=1.0, label="recorded")
        axes.plot(seconds[fewer], simulated[fewer, at], color=ORANGE, lw=0.9, alpha=0.9, label="simulated")
        axes.set_ylabel(unit)
    for phase in json.loads((RECORDING / "phases.json").read_text()):
        if phase["run"] == 1:
            begin = phase["begin_s"] - rows["time_ns"][0] / 1e9
            clock.axvline(begin, color="#999999", lw=0.5)
            clock.annotate(
                phase["phase"], (begin + 1, 1.04), xycoords=("data", "axes fraction"), fontsize=8, rotation=20
            )
    clock.legend(fontsize=8, framealpha=0.8, edgecolor="none", loc="lower right", ncols=2)
    heat.set_xlabel("seconds")
    heat.set_xlim(0, float(seconds[-1]))
    save(figure, path)


def replay(rows: pl.DataFrame) -> Iterator[tuple[float, float, float]]:
    """Clock in MHz, power in W and temperature in °C of a simulated GPU whose work has the recorded phases.

    Copies are kernels that the cluster does not have: they are replayed as a process without kernels.
    """
    conditions = (ConditionConfig(name="recorded-h100"),)
    config = SimulatorConfig(hosts=2, gpus_per_host=1, seed=5, step_ms=50, jobs=JobMix(jobs=0), conditions=conditions)
    cluster = SimulatedCluster(config, 0)
    gpus, noise = cluster.machine.gpus, cluster.conditions[0]
    at_s = 0.0
    for second, phase, used in rows.select("second", "phase", "mem_used_b").iter_rows():
        while at_s < second:
            at_s += TICK_S
            cluster.machine.steps += 1
            noise.step()
            _work(gpus, phase, at_s)
            gpus.framebuffer[0] = max(0.0, used - RESERVED_BYTES)
            gpus.tick(TICK_S)
        yield gpus.hertz[0] / MHZ, gpus.watts[0], gpus.celsius[0]


RESERVED_BYTES = 503316480.0  # what NVML calls used without any process


def _work(gpus: Gpus, phase: str, at_s: float) -> None:
    """Spends one tick as the phase does."""
    gpus.figures = DENSER if phase == "gemm" else RECORDED
    match phase:
        case "train" | "gemm":
            gpus.spent[0, COMPUTE] = TICK_S
        case "train-comm":
            gpus.spent[0, HANG if at_s % 0.331 < POLL_S else COMPUTE] = TICK_S
        case "hung-kernel":
            gpus.spent[0, HANG] = TICK_S
        case "evaluate":
            gpus.spent[0, COMPUTE if at_s % 0.828 < 0.31 else WAIT] = TICK_S
        case _:
            pass
