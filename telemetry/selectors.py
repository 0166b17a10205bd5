"""Named predicates on labels, by which detectors choose among the series of a metric.

Named, because what they choose is remembered by their name until the series change.
"""

from collections.abc import Callable, Mapping

Selector = Callable[[Mapping[str, str]], bool]


def received(labels: Mapping[str, str]) -> bool:
    return labels.get("direction") == "rx"


def sent(labels: Mapping[str, str]) -> bool:
    return labels.get("direction") == "tx"


def rdma_received(labels: Mapping[str, str]) -> bool:
    """Of a priority of its own: what the kernel moves is of priority 0."""
    return received(labels) and labels.get("priority") != "0"


def rdma_sent(labels: Mapping[str, str]) -> bool:
    return sent(labels) and labels.get("priority") != "0"


def before_fec(labels: Mapping[str, str]) -> bool:
    return labels.get("stage") == "pre_fec"


def reads(labels: Mapping[str, str]) -> bool:
    return labels.get("op") == "read"


def writes(labels: Mapping[str, str]) -> bool:
    return labels.get("op") == "write"


def on_server(labels: Mapping[str, str]) -> bool:
    """Of storage: counted by the server, once for all of its clients."""
    return labels.get("side") == "server"


def server_io(labels: Mapping[str, str]) -> bool:
    """Reads and writes, as the server counts them."""
    return on_server(labels) and labels.get("op") in ("read", "write")


def server_traffic(labels: Mapping[str, str]) -> bool:
    """The same for metrics that have a name for each operation and so no label."""
    return on_server(labels) and labels.get("op", "read") in ("read", "write")


def server_reads(labels: Mapping[str, str]) -> bool:
    return on_server(labels) and reads(labels)


def server_writes(labels: Mapping[str, str]) -> bool:
    return on_server(labels) and writes(labels)


def client_io(labels: Mapping[str, str]) -> bool:
    """Reads and writes, as one of its clients counts them."""
    return labels.get("side") == "client" and labels.get("op") in ("read", "write")


def client_traffic(labels: Mapping[str, str]) -> bool:
    """The same for metrics that have a name for each operation and so no label."""
    return labels.get("side") == "client" and labels.get("op", "read") in ("read", "write")


def client_reads(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "client" and reads(labels)


def client_writes(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "client" and writes(labels)
