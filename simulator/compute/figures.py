"""What each activity does to a GPU: power, clocks, heat and the ratios that profiling reports. Two sets of figures.

``USUAL`` is what the cluster has without conditions: partly assumptions. ``RECORDED`` is fitted to a recording of one
H100 80GB HBM3 at its default limit of 700 W (``tests/data/h100``); ``tests/unit/simulator/conditions/test_recorded.py``
holds it to that recording, docs/simulator/h100.md compares both.
"""

from dataclasses import dataclass

import numpy as np

from simulator.fabric.state import Floats

# What a GPU does: places in arrays by activity.
# no job; kernels; NCCL kernel that polls for peers; waits for storage; a kernel that never returns
IDLE, COMPUTE, SPIN, WAIT, HANG = range(5)

# Kernels that differ from the usual ones of a training job: places in arrays by kernel, parts of the time in COMPUTE.
# Decoding tokens reads all weights for each: about 60 % of the power limit, which prompts reach (Patel et al., POLCA,
# ASPLOS 2024). NCCL's exchange over NVLink occupies a fifth of the SMs (24 channels, 132 SMs) at 300 GB/s (assumption).
# A kernel of one GPU alone exchanges nothing and is smaller (assumption). In partitions (MIG) it is the same, and there
# is no utilisation (NVIDIA/dcgm-exporter issue 216).
DECODE, EXCHANGE, ALONE, PARTITIONED = range(4)


@dataclass(frozen=True, slots=True)
class GpuFigures:
    """Arrays [5] by activity, or those with ``more`` [4] by kernel: by how much it differs from COMPUTE.

    utilization, sm_active, tensor, dram: parts of the time, 0..1. occupancy: resident warps by active SMs.
    memory_copy: NVML's memory utilisation by the DRAM activity.
    watts: above idle at full clock; ``demand`` of chip and work scales it. steady_watts: the same, unscaled.
    dense: factor of ``watts`` where conditions hold GPUs to their limit. exponent: of the clock in dynamic power.
    power_window_s: time constant of the power that the board reports.
    at_once: part of the thermal resistance that shows within a tick; the rest follows with the time constant.
    memory_celsius: constant, and factors of the chip's temperature, of the power and of the DRAM activity.
    holds_clock: a process with a context keeps the boost clock though no kernel runs.
    """

    utilization: Floats
    sm_active: Floats
    tensor: Floats
    dram: Floats
    watts: Floats
    steady_watts: Floats
    more_utilization: Floats
    more_sm_active: Floats
    more_tensor: Floats
    more_dram: Floats
    more_watts: Floats
    dense: float
    exponent: float
    power_window_s: float
    at_once: float
    occupancy: float
    memory_copy: float
    memory_celsius: tuple[float, float, float, float]
    holds_clock: bool


USUAL = GpuFigures(
    utilization=np.array([0.0, 1.0, 1.0, 0.02, 1.0]),
    sm_active=np.array([0.0, 0.86, 0.13, 0.0, 0.01]),
    tensor=np.array([0.0, 0.56, 0.0, 0.0, 0.0]),
    dram=np.array([0.0, 0.44, 0.07, 0.01, 0.0]),
    watts=np.array([0.0, 570.0, 190.0, 45.0, 55.0]),
    steady_watts=np.zeros(5),
    more_utilization=np.array([0.0, 0.0, 0.0, -1.0]),
    more_sm_active=np.array([-0.26, -0.66, 0.0, 0.0]),
    more_tensor=np.array([-0.50, -0.56, -0.20, -0.20]),
    more_dram=np.array([0.21, -0.29, 0.0, 0.0]),
    more_watts=np.array([-220.0, -360.0, -90.0, -90.0]),
    # Dense work of a GPU that is not held back would draw more than its limit: large matrix multiplications of an H100
    # run below the boost clock at 700 W. The factor is an assumption; 72 W + 1.25 · 570 W gives 1.87 GHz at 700 W.
    dense=1.25,
    exponent=2.2,  # voltage follows frequency
    power_window_s=1.0,
    at_once=0.0,
    occupancy=0.45,
    memory_copy=0.9,
    memory_celsius=(4.0, 1.0, 0.0, 14.0),
    holds_clock=False,
)

# Training draws up to 910 W in the first tenth of a second, before the driver lowers the clock: 838 W above idle at
# 1.98 GHz. It settles at 1.59 GHz and 698 W: exponent ln(626 / 838) / ln(1.59 / 1.98). A context without kernels draws
# 122 W, a kernel that hangs 0.8 W more, polling of 24 blocks of 512 threads 12 W more (measured apart
# from the recording), and 0.07 of the DRAM's bandwidth, which NCCL's copies use, 21 W: the phase ``copy`` draws 273 W
# above the context at 0.90.
_TRAINING_WATTS, _CONTEXT_WATTS = 838.0, 50.0

RECORDED = GpuFigures(
    utilization=np.array([0.0, 1.0, 1.0, 0.0, 1.0]),
    sm_active=np.array([0.0, 0.935, 0.13, 0.0, 0.0076]),  # SPIN: 17 of 132 SMs, as USUAL
    tensor=np.array([0.0, 0.614, 0.0, 0.0, 0.0]),
    dram=np.array([0.0, 0.351, 0.07, 0.0, 0.0]),
    watts=np.array([0.0, _TRAINING_WATTS, 0.0, 0.0, 0.0]),
    steady_watts=np.array([0.0, 0.0, _CONTEXT_WATTS + 12.0 + 21.0, _CONTEXT_WATTS, _CONTEXT_WATTS + 0.8]),
    more_utilization=USUAL.more_utilization,
    # Kernels that were not recorded are as in USUAL.
    more_sm_active=np.array([0.60 - 0.935, 0.20 - 0.935, 0.0, 0.0]),
    more_tensor=np.array([0.06 - 0.614, -0.614, 0.36 - 0.614, 0.36 - 0.614]),
    more_dram=np.array([0.65 - 0.351, 0.15 - 0.351, 0.0, 0.0]),
    more_watts=np.array([350.0, 210.0, 480.0, 480.0]) - _TRAINING_WATTS,
    dense=1.0,
    exponent=1.33,
    power_window_s=0.6,  # the board gives the mean of the last second (3 W rms); the first-order lag nearest to it
    # Least squares over both runs: 0.024 to 0.028 K/W within 0.15 s and 0.024 to 0.030 K/W with 13 to 25 s.
    at_once=0.47,
    occupancy=0.327,
    memory_copy=1.3,
    memory_celsius=(13.4, 0.762, -0.0077, 16.7),  # least squares over both runs, 1.4 K rms
    holds_clock=True,
)
