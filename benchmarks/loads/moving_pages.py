"""Pages whose values change as on a healthy host, second by second, rendered in advance.

Names, labels and order are those of real pages (``pages``); counters increase by random steps, gauges vary.
"""

import random
import re
from collections.abc import Callable, Iterator

from benchmarks.loads.pages import gpu_page, pages

_LINE = re.compile(rb"^([a-zA-Z_:][^ {]*)((?:\{.*\})?) ([0-9.eE+-]+)$")
_VARIES = re.compile(r"node_(memory|load|filesystem_(avail|free)|pressure|hwmon_temp|cpu_scaling_frequency)")
_CONSTANT = re.compile(
    r"err|drop|carrier|change|fail|collis|discard|timeout|retrans|missed|overrun|reset|down|fifo|out_of"
)
_DISK_BUSY_S = 0.02  # in a second, for tens of operations: one of the recorded host's disks is slow
_Next = Callable[[random.Random], str]

# name of the field: lowest and highest of a gauge, or of the step of a counter; decimals
_GPU: dict[str, tuple[bool, float, float, int]] = {
    "DEV_SM_CLOCK": (False, 1905, 1980, 0),
    "DEV_MEM_CLOCK": (False, 2619, 2619, 0),
    "DEV_MEMORY_TEMP": (False, 52, 58, 0),
    "DEV_GPU_TEMP": (False, 48, 55, 0),
    "DEV_POWER_USAGE": (False, 590, 690, 6),
    "DEV_TOTAL_ENERGY_CONSUMPTION": (True, 590_000, 690_000, 0),
    "DEV_GPU_UTIL": (False, 96, 100, 0),
    "DEV_MEM_COPY_UTIL": (False, 40, 60, 0),
    "DEV_FB_FREE": (False, 9_120, 9_140, 0),
    "DEV_FB_USED": (False, 71_800, 71_820, 0),
    "DEV_FB_RESERVED": (False, 640, 640, 0),
    "DEV_NVLINK_BANDWIDTH_TOTAL": (False, 210_000, 240_000, 0),
    "PROF_GR_ENGINE_ACTIVE": (False, 0.95, 0.99, 6),
    "PROF_PIPE_TENSOR_ACTIVE": (False, 0.42, 0.48, 6),
    "PROF_DRAM_ACTIVE": (False, 0.38, 0.44, 6),
    "PROF_PCIE_TX_BYTES": (False, 2.0e9, 2.4e9, 0),
    "PROF_PCIE_RX_BYTES": (False, 1.1e9, 1.3e9, 0),
    "PROF_SM_ACTIVE": (False, 0.80, 0.88, 6),
    "PROF_SM_OCCUPANCY": (False, 0.30, 0.36, 6),
    "PROF_NVLINK_TX_BYTES": (False, 2.1e11, 2.4e11, 0),
    "PROF_NVLINK_RX_BYTES": (False, 2.1e11, 2.4e11, 0),
}
_FIXED = (False, 0.0, 0.0, 0)  # errors, and what this node does not use


def gpu_pages(count: int, seed: int = 1) -> Iterator[bytes]:
    """Eight GPUs in training, 30 fields each."""
    return _moving(gpu_page(), _gpu_value, count, seed)


def node_pages(count: int, seed: int = 2) -> Iterator[bytes]:
    """The page of a real node_exporter."""
    return _moving(pages()["node"][1], _node_value, count, seed)


def _moving(page: bytes, of: Callable[[str, str, bytes], _Next | None], count: int, seed: int) -> Iterator[bytes]:
    dice, kind = random.Random(seed), "untyped"
    parts: list[bytes | tuple[bytes, _Next]] = []
    for line in page.splitlines():
        if line.startswith(b"# TYPE "):
            kind = line.split()[-1].decode()
        match = _LINE.match(line)
        moves = of(match[1].decode(), kind, match[3]) if match else None
        parts.append((match[1] + match[2] + b" ", moves) if match and moves else line)
    for _ in range(count):
        lines = [part if isinstance(part, bytes) else part[0] + part[1](dice).encode() for part in parts]
        yield b"\n".join(lines) + b"\n"


def _gpu_value(name: str, _: str, __: bytes) -> _Next:
    rises, low, high, decimals = _GPU.get(name.removeprefix("DCGM_FI_"), _FIXED)
    return _increasing(1e9, low, high, decimals) if rises else _varying(low, high, decimals)


def _node_value(name: str, kind: str, value: bytes) -> _Next | None:
    """None: keeps its recorded value, as most states, sizes and limits do."""
    number, decimals = float(value), 6 if b"." in value or b"e" in value else 0
    if kind == "counter" and number > 0 and not _CONSTANT.search(name):
        step = _DISK_BUSY_S if "_time_seconds" in name else max(30.0, number * 1e-4)
        return _increasing(number, 0.9 * step, 1.1 * step, decimals)
    if name == "node_time_seconds":
        return _increasing(number, 1.0, 1.0, 6)
    return _varying(0.98 * number, number, decimals) if _VARIES.match(name) else None


def _increasing(start: float, low: float, high: float, decimals: int) -> _Next:
    at = start

    def move(dice: random.Random) -> str:
        nonlocal at
        at += dice.uniform(low, high)
        return f"{at:.{decimals}f}"

    return move


def _varying(low: float, high: float, decimals: int) -> _Next:
    return lambda dice: f"{dice.uniform(low, high):.{decimals}f}"
