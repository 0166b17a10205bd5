"""What an operation is, but for the moment: the labels of the series that its records become. Pure."""

from typing import NamedTuple

from ingest.collectors.nccl_tests.result import size_range

KINDS = ("coll", "p2p")


class Origin(NamedTuple):
    """Who wrote a record: a process as one rank of one communicator. '' where it does not say."""

    node: str
    job_id: str
    comm_name: str
    nranks: str
    n_nodes: str
    rank: str


class Operation(NamedTuple):
    """kind: coll or p2p. name: AllReduce, Send, … size: the range of message sizes, as Inspector's textfile spells it.

    algo_proto: RING_SIMPLE, … '' where records do not say.
    """

    origin: Origin
    kind: str
    name: str
    size: str
    algo_proto: str

    def labels(self) -> dict[str, str]:
        """As Inspector's textfile names them, and ``rank``, as records name no GPU."""
        found = self.origin._asdict() | {"message_size": self.size, "algo_proto": self.algo_proto}
        found["slurm_job_id"] = found.pop("job_id")
        found["collective" if self.kind == "coll" else "p2p_operation"] = self.name
        return {name: text for name, text in found.items() if text}


def range_of(size_bytes: int) -> str:
    """
    >>> range_of(0), range_of(17179869184)
    ('0B', '16-17GB')
    """
    return size_range(size_bytes) if size_bytes else "0B"
