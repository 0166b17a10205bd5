"""A tour in which all is well, made by hand: two faults, each with its incident and its page."""

from typing import Any

from common.units import NS_PER_S
from fabricscope.api.instants import rfc3339
from tests.acceptance.tour.record import Fault, Notification, Tour, Transition

START_NS = 1_700_049_600 * NS_PER_S  # 12:00:00 UTC
PORT, GPU = "port:leaf1/Ethernet48", "gpu:node5/GPU-1"


def at(seconds: float) -> int:
    """So long after the faults begin."""
    return START_NS + int(seconds * NS_PER_S)


def fault(name: str, root: str, kind: str) -> Fault:
    return Fault(
        name=name,
        target="node4/mlx5_2",
        words="something stalls",
        root=root,
        kinds=(kind,),
        start_ns=at(0),
        end_ns=at(240),
        jobs=("pretrain-llm",),
    )


def incident(identity: str, root: str, kind: str) -> dict[str, Any]:
    """As the API has it, as far as a tour looks."""
    kind_of_root, _, name = root.partition(":")
    return {
        "id": identity,
        "kind": kind,
        "root": {"kind": kind_of_root, "name": name},
        "title": f"[CRIT] {kind} at {name}",
        "opened": rfc3339(at(12)),
        "fired": rfc3339(at(15)),
        "resolved": rfc3339(at(270)),
    }


def notification(identity: str, root: str, status: str = "firing", after_s: float = 17) -> Notification:
    return Notification(
        incident=identity,
        status=status,
        sent_ns=at(after_s),
        labels={"incident_id": identity, "object": root, "severity": "critical"},
        annotations={"title": f"[CRIT] {identity} | {root}", "action": "Drain the host."},
    )


ALL_IS_WELL = Tour(
    hosts=64,
    switches=66,
    targets=300,
    series=340_944,
    jobs=("pretrain-llm", "finetune-moe"),
    interval_s=10.0,
    faults=(fault("slow-receiver", PORT, "slow_receiver"), fault("gpu-thermal-throttle", GPU, "gpu_fault")),
    incidents=(incident("one", PORT, "slow_receiver"), incident("two", GPU, "gpu_fault")),
    transitions=(
        *(Transition(at(12), "one", "opened"), Transition(at(15), "one", "fired")),
        *(Transition(at(30), "two", "opened"), Transition(at(40), "two", "fired")),
        *(Transition(at(270), "one", "resolved"), Transition(at(271), "two", "resolved")),
    ),
    notifications=(
        notification("one", PORT),
        notification("two", GPU, after_s=40),
        notification("one", PORT, after_s=50),
        notification("one", PORT, "resolved", 271),
        notification("two", GPU, "resolved", 272),
    ),
    lag_s_max=0.4,
)
