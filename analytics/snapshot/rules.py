"""When each block of a snapshot can be used; docs/state.md has the table of what a setting costs.

The memories of detectors have rules of their own, from what they declare: ``DetectorSet.blocks``. So have the models
of devices: ``Multivariate.blocks``.
"""

from analytics.derived import flaps, job_memory, job_traffic, working_gpus
from analytics.detectors import lifecycle
from analytics.events import event_log
from analytics.models.scoring import formats
from analytics.snapshot.block import Rule
from analytics.window import watermark

# What was learned from each collection: how much a value varies depends on the time between two of them.
PER_COLLECTION = ("interval_s",)
_ESSENTIAL = Rule(essential=True)

RULES = {
    "window": Rule(format=2, migrations={1: watermark.from_format_1}, essential=True),
    "registry": _ESSENTIAL,  # numbers the series: rows of most other blocks
    "rates": _ESSENTIAL,
    "targets": _ESSENTIAL,
    "cadence": Rule(),
    "cluster": _ESSENTIAL,  # the bus is not read again for it
    "findings": Rule(
        format=4,
        migrations={1: lifecycle.from_format_1, 2: lifecycle.from_format_2, 3: lifecycle.from_format_3},
        essential=True,
    ),
    "correlator": _ESSENTIAL,
    "baselines": Rule(settings=PER_COLLECTION),
    # Calibrated by the statistics that follow from the pace of the baselines
    "scores": Rule(
        format=6,
        migrations={
            1: formats.from_format_1,
            2: formats.from_format_2,
            3: formats.from_format_3,
            4: formats.from_format_4,
            5: formats.from_format_5,
        },
        settings=(*PER_COLLECTION, "baseline_horizon_s"),
    ),
    "trends": Rule(),
    "activity": Rule(
        settings=PER_COLLECTION,
        metrics=("gpu_tensor_active_ratio", "gpu_sm_active_ratio", "gpu_utilization_ratio"),
    ),
    "working": Rule(
        format=4,
        migrations={1: working_gpus.from_format_1, 2: working_gpus.from_format_2, 3: working_gpus.from_format_3},
    ),
    "job_memory": Rule(metrics=(job_memory.METRIC,)),
    "traffic": Rule(
        format=2, migrations={1: job_traffic.from_format_1}, metrics=(job_traffic.SENT, job_traffic.RECEIVED)
    ),
    "starvation": Rule(),
    "events": Rule(format=4, migrations=dict.fromkeys((1, 2, 3), event_log.from_fewer_metrics)),
    "flaps": Rule(metrics=flaps.METRICS),
    "multivariate": Rule(),  # the devices that are not learned, as there are findings about them
}
