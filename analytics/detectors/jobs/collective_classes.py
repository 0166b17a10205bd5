"""Which results of nccl-tests the collectives of a job can be compared with. Pure.

Like is compared with like: the same operation, with as many ranks on each node, so with as many NVLinks and NICs, and
about as much data. Within one node NVLink decides, between nodes the network. Bus bandwidth is defined so that it does
not depend on the number of ranks (nccl-tests, ``doc/PERFORMANCE.md``). What is lost on the way grows with the number of
nodes, so a result of more nodes is a lower bound. So is one of less data, as the fixed costs of a call weigh more.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_SIZE = re.compile(r"(\d{1,7})-\d{1,7}(B|KB|MB|GB|TB)")
_UNITS = {"B": 0, "KB": 10, "MB": 20, "GB": 30, "TB": 40}
_SIZE_TIMES = 2  # nccl-tests double the size from row to row as a rule (-f 2)


class CollectiveClass(NamedTuple):
    """size_bytes: what one rank gives to a call, the lower end of its range."""

    op: str
    ranks: int
    nodes: int
    size_bytes: int


def class_of(labels: Mapping[str, str]) -> CollectiveClass | None:
    """Of a series of bus bandwidth; None where a label is missing, or nodes have different numbers of ranks.

    >>> class_of({"op": "AllReduce", "ranks": "64", "nodes": "8", "size": "4-5GB"})
    CollectiveClass(op='AllReduce', ranks=64, nodes=8, size_bytes=4294967296)
    """
    size = _SIZE.fullmatch(labels.get("size", ""))
    ranks, nodes = (_number(labels.get(name, "")) for name in ("ranks", "nodes"))
    if size is None or ranks < 2 or nodes < 1 or ranks % nodes or not labels.get("op"):
        return None
    return CollectiveClass(labels["op"], ranks, nodes, int(size[1]) << _UNITS[size[2]])


def reference_of(job: CollectiveClass, tested: Iterable[CollectiveClass]) -> CollectiveClass | None:
    """What to compare with: of as few more nodes and of as little less data as there is; None for nothing like it."""
    like = [each for each in tested if _is_like(job, each)]
    return min(like, key=lambda each: (each.nodes, -each.size_bytes), default=None)


def _is_like(job: CollectiveClass, test: CollectiveClass) -> bool:
    return (
        job.op == test.op
        and job.ranks * test.nodes == test.ranks * job.nodes
        and (job.nodes == 1) == (test.nodes == 1)
        and job.nodes <= test.nodes
        and test.size_bytes <= job.size_bytes <= _SIZE_TIMES * test.size_bytes
    )


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,7}", text) else 0
