"""From the pods of kube-state-metrics that hold GPUs to running jobs. Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from common.units import NS_PER_S
from ingest.collectors.job_list import JobList
from ingest.collectors.kubernetes.page import (
    NODE_ALLOCATABLE,
    POD_INFO,
    POD_LABELS,
    POD_PHASE,
    POD_REQUESTS,
    POD_START,
    Labels,
    Page,
)
from telemetry.objects import EVENT_TIME_MAX, NAME_CHARS_MAX
from telemetry.topology import Job

# What several owners of one training job have in common, as kube-state-metrics shows a label where it is allowed to:
# JobSet, Kubeflow's trainer, Volcano, KubeRay.
JOB_LABELS = (
    "label_jobset_sigs_k8s_io_jobset_name",
    "label_training_kubeflow_org_job_name",
    "label_volcano_sh_job_name",
    "label_ray_io_cluster",
)
# Pods of these owners serve each for itself; a pod without an owner is alone, too.
APART = frozenset({"ReplicaSet", "DaemonSet", "", "<none>"})
ENDED = frozenset({"Succeeded", "Failed"})


@dataclass
class _Pod:
    """One pod with GPUs. gpus: requested by all its containers."""

    namespace: str
    name: str
    node: str = ""
    gpus: float = 0.0
    phase: str = ""
    started_ns: int = 0
    job: str = ""

    @property
    def job_id(self) -> str:
        return f"{self.namespace}/{self.job or self.name}"


def jobs_of(page: Page) -> JobList | None:
    """Jobs, on the nodes all of whose GPUs they hold; None where the page lists no pods, as that of a
    kube-state-metrics that just started: a cluster without any pod would have no kube-state-metrics either.

    malformed: pods that are left out, because their job holds a part of the node's GPUs, and nobody says which, or a
    name is too long. A job whose pod on one node begins again goes on with the others.
    """
    if not page[POD_INFO]:
        return None
    pods = _pods(page)
    members: defaultdict[str, list[_Pod]] = defaultdict(list)
    ended: dict[str, int] = {}
    for pod in pods:
        if pod.phase == "Running" and pod.node:
            members[pod.job_id].append(pod)
        elif pod.phase in ENDED:
            ended[pod.job_id] = 0
    allocatable: defaultdict[str, float] = defaultdict(float)
    for labels, gpus in page[NODE_ALLOCATABLE]:
        allocatable[labels.get("node", "")] += gpus
    running, left_out = {}, 0
    for job_id, its in members.items():
        used = _on_whole_nodes(its, allocatable) if len(job_id) <= NAME_CHARS_MAX else []
        left_out += len(its) - len(used)
        if used:
            running[job_id] = _job(job_id, used)
    return JobList(running, {key: at for key, at in ended.items() if key not in members}, left_out)


def _pods(page: Page) -> list[_Pod]:
    pods: dict[tuple[str, str], _Pod] = {}
    for labels, gpus in page[POD_REQUESTS]:
        if gpus > 0.0:
            pod = pods.setdefault(_key(labels), _Pod(*_key(labels)))
            pod.node, pod.gpus = labels.get("node", ""), pod.gpus + gpus
    for labels, on in page[POD_PHASE]:
        if on == 1.0 and (known := pods.get(_key(labels))):
            known.phase = labels.get("phase", "")
    for labels, at_s in page[POD_START]:
        if (known := pods.get(_key(labels))) and math.isfinite(at_s) and 0 < at_s <= EVENT_TIME_MAX // NS_PER_S:
            known.started_ns = int(at_s) * NS_PER_S
    for labels, _ in page[POD_INFO]:
        if (known := pods.get(_key(labels))) and labels.get("created_by_kind", "") not in APART:
            known.job = labels.get("created_by_name", "")
    for labels, _ in page[POD_LABELS]:  # after the owner, which it overrules
        if known := pods.get(_key(labels)):
            known.job = next(filter(None, (labels.get(name) for name in JOB_LABELS)), known.job)
    return [pods[key] for key in sorted(pods)]


def _key(labels: Labels) -> tuple[str, str]:
    return labels.get("namespace", ""), labels.get("pod", "")


def _on_whole_nodes(pods: list[_Pod], allocatable: Mapping[str, float]) -> list[_Pod]:
    """Those of a job on nodes whose GPUs are all the job's. A node whose GPUs nobody counts is taken as whole."""
    held: defaultdict[str, float] = defaultdict(float)
    for pod in pods:
        held[pod.node] += pod.gpus
    whole = {node for node, gpus in held.items() if gpus >= allocatable.get(node, 0.0) and len(node) <= NAME_CHARS_MAX}
    return [pod for pod in pods if pod.node in whole]


def _job(job_id: str, pods: list[_Pod]) -> Job:
    started_ns = min((pod.started_ns for pod in pods if pod.started_ns), default=0)
    namespace, _, name = job_id.partition("/")
    nodes = tuple(sorted({pod.node for pod in pods}))
    return Job(job_id, nodes, name=name, user=namespace, started_ns=started_ns)
