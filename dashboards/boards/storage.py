"""Storage and checkpoints: what moves, how long it takes, how full it is, and who waits."""

from dashboards.common import PLACE_VARIABLES, device_variable, first_row
from dashboards.model import BAD, GOOD, Board, Level, Query
from dashboards.panels import constant, highest, lines, rising, states, table
from dashboards.queries import CLUSTER, DEVICES, LINES_MAX, lowest, summed_rate, worst
from dashboards.scopes import NODES, OPENS_JOB, OPENS_NODE, STORAGE_TARGETS
from telemetry.kinds import Domain
from telemetry.limits import DISK_SECONDS, METADATA_PER_SECOND_MIN

UID = "fabricscope-storage"
TARGETS = STORAGE_TARGETS.labels
_BY = STORAGE_TARGETS.grouping
_TIME, _COUNT = (f"storage_operation_duration_seconds_{part}" for part in ("sum", "count"))
_MEAN = f"{summed_rate(_BY, _TIME, TARGETS)} / ({summed_rate(_BY, _COUNT, TARGETS)} > 0)"
_SIZE = f"(storage_capacity_bytes{{{TARGETS}}} > 0)"
FULL = f"max by ({_BY}) (1 - storage_available_bytes{{{TARGETS}}} / {_SIZE})"
_METADATA = (
    "open|close|create|mknod|link|unlink|rename|mkdir|rmdir|readdir|getattr|setattr|getxattr|setxattr|statfs|sync"
)
_LATE = "checkpoint_late|checkpoint_overdue|checkpoint_colliding|job_idle"

_PANELS = (
    highest(
        10,
        "Written",
        STORAGE_TARGETS,
        "storage_written_bytes_total",
        "Normal: bursts of all targets alike, at checkpoints.",
    ),
    highest(
        11,
        "Read",
        STORAGE_TARGETS,
        "storage_read_bytes_total",
        "Normal: even, and bursts when jobs start.",
    ),
    lines(
        12,
        "Time of an operation (s, mean, 10 slowest targets)",
        "s",
        "Mean duration of reads and writes. Normal: all targets of a file system alike; hard disks stay "
        "below the dashed line. One that stands out makes every job wait that has a file on it.",
        Query(worst(_MEAN), STORAGE_TARGETS.legend),
        limit=constant(DISK_SECONDS, "what a hard disk may take"),
        drill_down=OPENS_NODE,
    ),
    highest(
        13,
        "Operations",
        STORAGE_TARGETS,
        "storage_operations_total",
        "Normal: alike on all targets of a file system.",
        by=("op",),
    ),
    highest(
        14,
        "Metadata operations",
        STORAGE_TARGETS,
        "storage_operations_total",
        "Normal: below the dashed level, from which on clients may wait. A storm is usually one job that opens many "
        "small files.",
        only={"op": f"~{_METADATA}"},
        limit=constant(METADATA_PER_SECOND_MIN, "clients may wait"),
    ),
    highest(
        15,
        "Operations in progress or waiting",
        STORAGE_TARGETS.of(DEVICES + ',side="server"'),
        "storage_queue_depth",
        "Normal: low. One that stays high while the others are idle is a slow disk.",
        drill_down=OPENS_NODE,
    ),
    lines(
        16,
        "Space used (%, 10 fullest targets)",
        "percentunit",
        "Share of a target's space that is used. Above 90 % Lustre slows down; old checkpoints are the usual cause.",
        Query(worst(FULL), STORAGE_TARGETS.legend),
        steps=rising(warn=0.8, bad=0.9),
        maximum=1.0,
        drill_down=OPENS_NODE,
    ),
    states(
        17,
        "Health that the storage reports (10 lowest servers)",
        "1 while a server reports that it is healthy. Normal: healthy.",
        Query(lowest(f"min by (cluster, device) (storage_up{{{DEVICES}}})"), NODES.legend),
        states={0: ("▼ unhealthy", BAD), 1: ("● healthy", GOOD)},
        drill_down=OPENS_NODE,
    ),
    highest(
        18,
        "Errors and timeouts",
        STORAGE_TARGETS.of(DEVICES),
        "storage_errors_total",
        "Normal: 0. A major timeout is a request that no retransmission got answered.",
        by=("kind",),
        steps=rising(bad=0.001),
    ),
    highest(
        19,
        "Written by clients",
        NODES.of(DEVICES + ',side="client"'),
        "storage_written_bytes_total",
        "Normal: all nodes of a job alike. One far below writes its part of a checkpoint late.",
    ),
    highest(
        20,
        "Disks of nodes busy",
        NODES.of(DEVICES + ',system="block"'),
        "storage_busy_seconds_total",
        "Normal: bursts. All the time: a local disk holds its job up.",
        how="max",
        maximum=1.0,
    ),
    table(
        21,
        "Jobs that wait for storage (findings, 10 at most, now)",
        "none",
        "Late, missing and colliding checkpoints, and jobs whose GPUs wait for input. Normal: empty.",
        f'topk({LINES_MAX}, label_replace(fabricscope_finding_active{{{CLUSTER},kind=~"{_LATE}"}}, '
        '"job_id", "$1", "object", "job:(.+)"))',
        columns={"kind": "What", "job_id": "Job", "detector": "Found by"},
        drill_down=OPENS_JOB,
    ),
)

BOARD = Board(
    uid=UID,
    title="Fabricscope · Storage & checkpoints",
    description="Storage targets and clients: traffic, latency, space, and jobs that wait.",
    level=Level.DOMAIN,
    tags=("storage",),
    variables=(*PLACE_VARIABLES, device_variable("storage_read_bytes_total", "Server or client")),
    panels=(*first_row(UID, Domain.STORAGE), *_PANELS),
)
