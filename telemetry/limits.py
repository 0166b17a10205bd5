"""Limits that detectors judge by and boards draw: one number for both, with the place that it comes from.

A limit that only one detector needs is a constant beside that detector.
"""

PAUSE_RATIO_MAX = 0.05
"""Share of time that a port may be paused: the default of ``detection.pause_ratio_max``."""

PAUSE_THRESHOLD_BYTES = 8_000_000.0
"""Buffer use of a queue at which a switch of unknown ASIC pauses: 64 MB of shared buffer and a dynamic threshold of
1/8 of what is free, as SONiC ships for such switches. The default of ``detection.pause_threshold_bytes``."""

QUEUE_NEAR_SHARE = 0.8
"""Of the pause threshold: above that one burst of a round-trip time crosses it."""

LOSSLESS_QUEUES = ("3", "4")
"""Queues and priorities on which PFC is enabled: the default of ``detection.lossless_queues``."""

LINK_SPEED_SHARE_MIN = 0.99
"""Of its rated speed: sources round, and 400 Gb/s may be reported as 399.6e9."""

ERRORS_PER_SECOND_MAX = 0.1
"""IEEE 802.3 guarantees a frame loss below 6.2e-10; at 400 Gb/s that is one large frame in minutes. One in ten seconds
is far above that."""

PRE_FEC_BER_MAX = 2.4e-4
"""Bit errors per bit before FEC up to which RS(544,514) "KP4" holds (IEEE 802.3 clauses 91 and 119)."""

PRE_FEC_MARGIN = 10.0
"""A decade below the limit the reserve is used up: a link that gets worse still has time to be drained."""

GPU_THROTTLED_SHARE_MAX = 0.1
"""Of the time: a tenth of a GPU's clock is a tenth of its job."""

GPU_SLOWDOWN_CELSIUS = 87.0
"""Of an H100, where a GPU does not report how far it is from that."""

GPU_POWER_LIMIT_SHARE_MIN = 0.95
"""Of the highest limit that a GPU has had: less than that costs clocks."""

GPU_PCIE_REPLAYS_PER_SECOND_MAX = 8 / 60
"""NVIDIA DCGM, dcgm_gpu_hardware_limits.h: at most eight replays a minute."""

GPU_NVLINK_CRC_PER_SECOND_MAX = 100.0
"""NVIDIA DCGM, dcgm_gpu_hardware_limits.h and its health watch: check sequence errors matter from 100 a second on."""

STRAGGLER_CLOCK_SHARE = 0.93
"""Of the job's median: boost clocks of healthy GPUs of one model seldom differ by more."""

INLET_RECOMMENDED_CELSIUS, INLET_ALLOWED_CELSIUS = 27.0, 35.0
"""ASHRAE TC 9.9, Thermal Guidelines for Data Processing Environments (2021): 18 to 27 C is recommended, class A2 allows
up to 35 C."""

DISK_SECONDS = 0.02
"""Mean time of an operation that a healthy hard disk of 7200 rpm may need: each may seek (11 ms) and wait for a whole
turn (8.3 ms). Western Digital, Ultrastar DC HC310 OEM specification, 4.5.1: average of writes, of any drive."""

METADATA_PER_SECOND_MIN = 3000.0
"""One metadata target of a Lustre system does tens of thousands of operations a second (Lustre Operations Manual,
tuning and sizing of the MDS): below a few thousand no client waits, however unusual it is."""
