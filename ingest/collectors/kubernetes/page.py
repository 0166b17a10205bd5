"""From the page of kube-state-metrics to the few samples that say where jobs run and which nodes take none. Pure.

Names and labels: github.com/kubernetes/kube-state-metrics, docs/metrics.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from common.errors import BadInput

Labels = Mapping[str, str]

POD_INFO = "kube_pod_info"
POD_LABELS = "kube_pod_labels"
POD_PHASE = "kube_pod_status_phase"
POD_START = "kube_pod_start_time"
POD_REQUESTS = "kube_pod_container_resource_requests"
NODE_UNSCHEDULABLE = "kube_node_spec_unschedulable"
NODE_TAINT = "kube_node_spec_taint"
NODE_CONDITION = "kube_node_status_condition"
NODE_ALLOCATABLE = "kube_node_status_allocatable"
_NAMES = (
    *(POD_INFO, POD_LABELS, POD_PHASE, POD_START, POD_REQUESTS),
    *(NODE_UNSCHEDULABLE, NODE_TAINT, NODE_CONDITION, NODE_ALLOCATABLE),
)
_PREFIXES = tuple(f"{name}{{".encode() for name in _NAMES)
_OF_RESOURCES = (f"{POD_REQUESTS}{{".encode(), f"{NODE_ALLOCATABLE}{{".encode())


@dataclass(frozen=True)
class Page:
    """Samples by name, in the order of the page."""

    samples: Mapping[str, list[tuple[Labels, float]]]

    def __getitem__(self, name: str) -> list[tuple[Labels, float]]:
        return self.samples.get(name, [])


def parse_page(body: bytes, gpu_resources: Iterable[str]) -> Page:
    """BadInput for a page that has none of the names, or one that cannot be read: half a page would end jobs.

    A page of a large cluster has hundreds of thousands of lines: those of other names and resources are not parsed.
    """
    resources = [f'resource="{name}"'.encode() for name in gpu_resources]
    lines = [line for line in body.split(b"\n") if line.startswith(_PREFIXES) and _is_wanted(line, resources)]
    if not lines:
        raise BadInput(f"page of {len(body)} bytes without {POD_INFO} or {NODE_UNSCHEDULABLE}", "not_exposition")
    if not body.endswith(b"\n"):
        raise BadInput("the page ends in the middle of a line", "truncated")
    samples: dict[str, list[tuple[Labels, float]]] = {}
    try:
        for family in text_string_to_metric_families(b"\n".join(lines).decode() + "\n"):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    except (ValueError, KeyError, IndexError) as error:
        raise BadInput(f"page of kube-state-metrics: {str(error)[:200]}", "bad_format") from error
    return Page(samples)


def _is_wanted(line: bytes, resources: Iterable[bytes]) -> bool:
    return not line.startswith(_OF_RESOURCES) or any(resource in line for resource in resources)
