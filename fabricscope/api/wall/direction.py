"""On which side a value is bad, so that a person need not know each metric."""

from typing import Literal

from telemetry.catalogue import metrics
from telemetry.findings import Evidence

Side = Literal["higher", "lower", ""]
LOAD = "operations/s"  # what a storage target is asked for, beside how long each takes: on no side is it bad


def worse_side(evidence: Evidence) -> Side:
    """As the catalogue says, or else the side on which it left its normal; '' where neither is known."""
    if evidence.unit == LOAD:
        return ""
    metric = metrics().get(evidence.series.partition("{")[0])
    if metric is not None and metric.worse:
        return metric.worse
    if evidence.normal is None or evidence.value == evidence.normal:
        return ""
    return "higher" if evidence.value > evidence.normal else "lower"
