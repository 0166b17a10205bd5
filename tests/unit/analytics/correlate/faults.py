"""Faults on the small cluster, as the findings that detectors make of them."""

from collections.abc import Callable
from dataclasses import replace

from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE
from telemetry.findings import Evidence, Finding
from telemetry.findings import FindingKind as K
from tests.unit.analytics.correlate.small_fabric import Fabric

Make = Callable[[Fabric], list[list[Finding]]]  # of a cluster: findings tick by tick


def slow_receiver(p: Fabric) -> list[list[Finding]]:
    """node2 accepts nothing on rail 3; leaf3 pauses the other senders and its spines, these pause other leaves."""
    return [
        [p.find(K.PFC_PAUSE_SENT, p.uplink(3, 1), 1), p.find(K.ECN_MARKING, p.facing(3, 2), 0)],
        [
            p.find(K.PFC_PAUSE_RECEIVED, p.facing(3, 2), 0, score=5),
            p.find(K.PFC_PAUSE_RECEIVED, p.downlink(1, 3), 1),
            p.find(K.PFC_PAUSE_SENT, p.downlink(1, 5), 2),
            p.find(K.PFC_PAUSE_RECEIVED, p.uplink(5, 1), 2),
            p.find(K.PFC_PAUSE_SENT, p.facing(5, 6), 3),
            p.find(K.PFC_PAUSE_RECEIVED, "node6/mlx5_4", 3),
            p.find(K.QUEUE_CONGESTED, p.facing(3, 2), 0),
        ],
        [p.find(K.JOB_STALLED, "job:1", 4), p.find(K.JOB_STALLED, "job:2", 5), p.find(K.STRAGGLER, p.gpu(2, 2), 4)],
    ]


def incast(p: Fabric) -> list[list[Finding]]:
    return [
        [p.find(K.PFC_PAUSE_SENT, p.facing(2, 1), 1), p.find(K.ECN_MARKING, p.facing(2, 4), 0, score=4)],
        [
            p.find(K.QUEUE_CONGESTED, p.facing(2, 4), 0, score=4),
            p.find(K.PFC_PAUSE_SENT, p.facing(2, 2), 1),
            p.find(K.PFC_PAUSE_RECEIVED, "node3/mlx5_1", 1),
            p.find(K.QUEUE_CONGESTED, p.facing(2, 7), 1, score=1.2),
            p.find(K.JOB_STALLED, "job:1", 3),
        ],
    ]


def incast_without_pauses(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.QUEUE_CONGESTED, p.facing(2, 4)), p.find(K.ECN_MARKING, p.facing(2, 4))]]


def pause_loop(p: Fabric) -> list[list[Finding]]:
    """leaf1 → spine1 → leaf2 → spine2 → leaf1: each waits for the next, and nothing moves."""
    standing = [p.find(K.PAUSE_STORM, port, at, score=3) for at, port in enumerate(ring(p)[:3])]
    return [[*cycle_of_pauses(p)[0], *standing]]


def ring(p: Fabric) -> list[str]:
    return [p.uplink(1, 1), p.downlink(1, 2), p.uplink(2, 2), p.downlink(2, 1)]


def cycle_of_pauses(p: Fabric) -> list[list[Finding]]:
    """Short pauses all round: each ends before the next one needs it."""
    return [[p.find(K.PFC_PAUSE_RECEIVED, port, at) for at, port in enumerate(ring(p))]]


def bgp_down(p: Fabric) -> list[list[Finding]]:
    """The link is up: nothing else explains it."""
    return [[p.find(K.BGP_SESSION, "leaf3", 0), p.find(K.BGP_SESSION, "leaf3", 0)]]


def session_lost(p: Fabric, name: str, port: str, at: float) -> Finding:
    """A session over a port, as BGP unnumbered names it."""
    series = f'fabric_bgp_session_up{{device="{name}",peer="{port.partition("/")[2]}"}}'
    return replace(p.find(K.BGP_SESSION, name, at), evidence=(Evidence(series, 0.0, 1.0, "state"),))


def routing_daemon(p: Fabric) -> list[list[Finding]]:
    """The daemon of spine2 dies: its neighbours lose their sessions one after the other, its links stay up."""
    first, *others = (session_lost(p, f"leaf{leaf}", p.uplink(leaf, 2), leaf) for leaf in range(1, 9))
    return [[first], others, [session_lost(p, "spine2", p.downlink(2, 5), 9)]]


def line_card(p: Fabric) -> list[list[Finding]]:
    """Three of the eight links of spine2 are dark at both ends."""
    leaves = range(1, 4)
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 2))],
        [p.find(K.LINK_DOWN, port, 2) for leaf in leaves for port in (p.uplink(leaf, 2), p.downlink(2, leaf))],
    ]


def link_down_takes_its_session(p: Fabric) -> list[list[Finding]]:
    return [
        [p.find(K.BGP_SESSION, "leaf1", 0), p.find(K.LINK_DOWN, p.uplink(1, 1), 1)],
        [p.find(K.LINK_DOWN, p.downlink(1, 1), 2), p.find(K.ECMP_IMBALANCE, "leaf5", 3)],
    ]


def metadata_storm(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.METADATA_STORM, "storage_target:scratch/OST0001"), p.find(K.JOB_SLOWED, "job:1", 2)]]


def link_down(p: Fabric) -> list[list[Finding]]:
    """One uplink; its traffic moves to the others, which mark and queue more."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 1)), p.find(K.ECN_MARKING, p.uplink(1, 2), 1)],
        [
            p.find(K.LINK_DOWN, p.downlink(1, 1), 2),
            p.find(K.QUEUE_CONGESTED, p.downlink(2, 1), 3),
            p.find(K.DEVIATION, "leaf4/Ethernet0", 4),
            p.find(K.PFC_PAUSE_SENT, p.uplink(1, 3), 4),
        ],
    ]


def host_link_down(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.facing(1, 1)), p.find(K.LINK_DOWN, "node1/mlx5_0"), p.find(K.JOB_STALLED, "job:1")]]


def link_flapping(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.uplink(2, 2))], [p.find(K.LINK_FLAPPING, p.downlink(2, 2), 5)]]


def dirty_optic(p: Fabric) -> list[list[Finding]]:
    return [
        [p.find(K.LINK_ERRORS, p.uplink(2, 3)), p.find(K.LINK_SLOW, p.downlink(3, 2)), p.find(K.DEVIATION, "leaf2")]
    ]


def dirty_optic_before_storage(p: Fabric) -> list[list[Finding]]:
    """A client behind the link waits for storage, now for one target, now for another."""
    waits = [p.find(K.STORAGE_SLOW, f"storage_target:scratch/OST000{n}", 20 + 9 * n, score=9.0) for n in (1, 3)]
    return [
        [p.find(K.LINK_ERRORS, p.uplink(2, 3))],
        *([replace(one, confidence=ONE_CLIENT_CONFIDENCE)] for one in waits),
    ]


def spine_down(p: Fabric) -> list[list[Finding]]:
    """Its leaves notice one after the other, and its silence comes last."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 2))],
        [p.find(K.LINK_DOWN, p.uplink(leaf, 2), 2) for leaf in range(2, 7)],
        [p.find(K.ECN_MARKING, p.downlink(3, 4), 4), p.find(K.LINK_DOWN, p.uplink(7, 2), 4)],
        [p.find(K.TARGET_SILENT, "spine2", 3)],
    ]


def spine_down_noticed_slowly(p: Fabric) -> list[list[Finding]]:
    """The first link fires on its own before the rest is seen."""
    return [
        [p.find(K.LINK_DOWN, p.uplink(1, 2))],
        [],
        [],
        [],
        [p.find(K.LINK_DOWN, p.uplink(leaf, 2), 15) for leaf in range(2, 9)],
    ]


def host_down(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.LINK_DOWN, p.facing(leaf, 3), 1) for leaf in range(1, 9)], [p.find(K.TARGET_SILENT, "node3", 2)]]


def rack_power(p: Fabric) -> list[list[Finding]]:
    """Every leaf loses half of its hosts and reports it: it is alive."""
    down = [p.find(K.LINK_DOWN, p.facing(leaf, node), 1) for leaf in range(1, 9) for node in range(1, 5)]
    silent = [p.find(K.TARGET_SILENT, f"node{node}", 2) for node in range(1, 5)]
    return [down[:20], down[20:], silent, [p.find(K.JOB_STALLED, "job:1", 3)]]


def reboot(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.TARGET_SILENT, "leaf4", 0)], [p.find(K.DEVICE_REBOOTED, "leaf4", 5)]]


def straggler(p: Fabric) -> list[list[Finding]]:
    return [
        [p.find(K.JOB_STALLED, "job:2", 1), p.find(K.DEVIATION, "leaf3", 2)],
        [p.find(K.STRAGGLER, p.gpu(6, 1), 0, score=4), p.find(K.STRAGGLER, p.gpu(7, 1), 3, score=1.1)],
    ]


def tcp_fallback(p: Fabric) -> list[list[Finding]]:
    """node6 has no RDMA left; its neighbours in the ring lose half of theirs, and all wait for its sockets."""
    deviations = [p.find(K.DEVIATION, f"node{node}/mlx5_1", 2) for node in (5, 6, 7)]
    return [[p.find(K.JOB_SLOWED, "job:2", 3)], [p.find(K.TCP_FALLBACK, "node6", 0, score=4), *deviations]]


def gpu_throttled(p: Fabric) -> list[list[Finding]]:
    return [
        [p.find(K.STRAGGLER, p.gpu(6, 1), 0, score=4), p.find(K.JOB_STALLED, "job:2", 1)],
        [p.find(K.GPU_THROTTLED, p.gpu(6, 1), 1)],
    ]


def gpu_lost(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.GPU_LOST, p.gpu(1, 5)), p.find(K.GPU_XID, p.gpu(1, 5)), p.find(K.JOB_STALLED, "job:1", 2)]]


def program_fails(p: Fabric) -> list[list[Finding]]:
    """Three GPUs of a job report it, and the job stands still until its launcher notices."""
    gpus = [p.gpu(1, 5), p.gpu(1, 6), p.gpu(3, 0)]
    xids = [p.find(K.PROGRAM_ERROR, gpu, n) for n, gpu in enumerate(gpus)]
    whose = (Evidence("xid{}", 31.0, 0.0, "XID"), Evidence('program{job_id="1",program="ada"}', 1.0, 0.0, "programs"))
    return [[replace(xid, evidence=whose) for xid in xids]]


def rack_overheats(p: Fabric) -> list[list[Finding]]:
    """The cooling of a rack: its GPUs throttle, and one of its hosts reports a failed fan."""
    return [
        [p.find(K.OVERHEATED, "rack:r1"), p.find(K.OVERHEATED, "node2", 3)],
        [p.find(K.GPU_THROTTLED, p.gpu(node, 0), 5) for node in range(1, 4)] + [p.find(K.PART_FAILED, "node1", 4)],
    ]


def node_overheats(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.GPU_THROTTLED, p.gpu(1, index)) for index in range(5)]]


def slow_storage(p: Fabric) -> list[list[Finding]]:
    """Symptoms come first: both jobs wait for their checkpoint, one GPU is an outlier, another target is slow too."""
    return [
        [p.find(K.JOB_STALLED, "job:1", 0), p.find(K.STRAGGLER, p.gpu(2, 0), 2)],
        [p.find(K.JOB_STALLED, "job:2", 2), p.find(K.DEVIATION, "oss2", 0), p.find(K.DEVIATION, "node7", 2)],
        [
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", 1, score=8),
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0003", 2, score=1.5),
            p.find(K.CHECKPOINT_LATE, "job:1", 5),
        ],
    ]


def storage_pauses(p: Fabric) -> list[list[Finding]]:
    """The server of a slow target stops taking traffic: the target is the cause, not its port."""
    return [
        [
            p.find(K.PFC_PAUSE_RECEIVED, "leaf2/Ethernet7000", 1),
            p.find(K.PFC_PAUSE_RECEIVED, "node1/mlx5_1", 2),
            p.find(K.STORAGE_SLOW, "storage_target:scratch/OST0002", 0),
        ]
    ]


def checkpoint_late(p: Fabric) -> list[list[Finding]]:
    """No target is slow: the job itself is what is left."""
    return [
        [p.find(K.JOB_SLOWED, "job:1", 2)],
        [p.find(K.CHECKPOINT_LATE, "job:1", 0), p.find(K.JOB_STALLED, "job:1", 1)],
    ]


def checkpoints_collide(p: Fabric) -> list[list[Finding]]:
    both = [p.find(K.CHECKPOINT_COLLIDING, "job:1", 0), p.find(K.CHECKPOINT_COLLIDING, "job:2", 1)]
    return [[*both, p.find(K.CHECKPOINT_LATE, "job:2", 1)]]


def exporter_frozen(p: Fabric) -> list[list[Finding]]:
    return [[p.find(K.TARGET_FROZEN, "node5")]]
