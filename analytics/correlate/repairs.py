"""A reboot that repairs a GPU: what its host shows by it belongs to the incident of the GPU."""

from collections.abc import Iterator, Sequence

from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef


def repairs_gpu(view: CorrelationView, host: str) -> bool:
    """Whether a host that comes back does so while one of its GPUs has an open incident."""
    return view.is_firing(IncidentKind.GPU_FAULT, view.graph.gpus_of(host))


def repair_of(view: CorrelationView, host: str) -> Iterator[Finding]:
    """That the host restarted, and the outages of its links that went with it."""
    restarted = [finding for finding in view.on_device(host) if finding.kind is FindingKind.DEVICE_REBOOTED]
    yield from restarted
    if restarted:
        for link in view.graph.links(host):
            yield from _outages(view, link, [finding.onset_ns for finding in restarted])


def _outages(view: CorrelationView, link: ObjectRef, at_ns: Sequence[int]) -> Iterator[Finding]:
    for port in sorted(view.graph.ports(link)):
        for finding in view.about(port):
            near = any(abs(finding.onset_ns - each) <= view.config.change_window_ns for each in at_ns)
            if finding.kind is FindingKind.LINK_BOUNCED and near:
                yield finding
