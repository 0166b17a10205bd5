"""A new version of something on a device, as the evidence of a finding says it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from common.errors import BadInput
from telemetry.findings import Evidence
from telemetry.series import parse_series_key, series_key

METRIC = "device_software_info"
EVIDENCE = "software_version"


class Change(NamedTuple):
    """component: kernel, gpu_driver, …. had: the version before."""

    component: str
    version: str
    had: str


def evidence_key(device: str, change: Change) -> str:
    """``software_version{component="kernel",device="node1",had="6.8.0-57",version="6.8.0-60"}``."""
    return series_key(EVIDENCE, {"device": device, **change._asdict()})


def changes(evidence: Iterable[Evidence]) -> Iterator[Change]:
    """What the evidence of a finding says that is new."""
    for one in evidence:
        try:
            metric, labels = parse_series_key(one.series)
        except BadInput:
            continue
        if metric == EVIDENCE:
            yield Change(*(labels.get(field, "") for field in Change._fields))
