"""Which collectives of a job can be compared with which results of nccl-tests."""

import pytest

from analytics.detectors.jobs.collective_classes import CollectiveClass, class_of, reference_of

LABELS = {"op": "AllReduce", "ranks": "16", "nodes": "2", "size": "25-26MB"}
MB, GB = 1 << 20, 1 << 30


def of(ranks: int, nodes: int, size: int, op: str = "AllReduce") -> CollectiveClass:
    return CollectiveClass(op, ranks, nodes, size)


def test_a_class_is_read_from_the_labels_of_a_series() -> None:
    assert class_of(LABELS) == of(16, 2, 25 * MB)


@pytest.mark.parametrize(
    "other",
    [
        {"op": ""},
        {"ranks": "17"},  # one node has more ranks than the other
        {"ranks": "1", "nodes": "1"},
        {"ranks": "many"},
        {"ranks": "-16"},
        {"nodes": "0"},
        {"nodes": ""},
        {"size": "25MB"},
        {"size": "25-26MiB"},
        {"size": ""},
    ],
)
def test_a_series_that_does_not_say_what_it_is_has_none(other: dict[str, str]) -> None:
    assert class_of(LABELS | other) is None


def test_a_series_of_an_inspector_that_does_not_name_nodes_has_none() -> None:
    """Whether its ranks use NVLink or the network is not known."""
    assert class_of({name: text for name, text in LABELS.items() if name != "nodes"}) is None


JOB = of(16, 2, 25 * MB)


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        ([JOB], JOB),
        ([of(16, 2, 16 * MB), of(16, 2, 32 * MB)], of(16, 2, 16 * MB)),  # more data may be faster
        ([of(16, 2, 16 * MB), of(16, 2, 25 * MB)], of(16, 2, 25 * MB)),
        ([of(16, 2, 8 * MB)], None),  # less than half as much
        ([of(64, 8, 25 * MB), of(32, 4, 16 * MB)], of(32, 4, 16 * MB)),  # as many ranks on each of more nodes
        ([of(8, 1, 25 * MB)], None),  # NVLink alone
        ([of(16, 4, 25 * MB), of(16, 16, 25 * MB)], None),  # fewer NICs a node
        ([of(16, 2, 25 * MB, "AllGather")], None),
        ([], None),
    ],
)
def test_like_is_compared_with_like(tested: list[CollectiveClass], expected: CollectiveClass | None) -> None:
    assert reference_of(JOB, tested) == expected


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        ([of(8, 1, GB), of(4, 1, GB)], of(4, 1, GB)),
        ([of(8, 1, GB), of(2, 1, GB)], None),  # other GPUs have other NVLinks between them
        ([of(8, 2, GB)], None),  # over the network
    ],
)
def test_on_one_node_as_many_ranks_are_compared(
    tested: list[CollectiveClass], expected: CollectiveClass | None
) -> None:
    assert reference_of(of(4, 1, GB), tested) == expected


def test_a_job_on_more_nodes_than_were_tested_is_not_compared() -> None:
    assert reference_of(of(64, 8, GB), [of(32, 4, GB)]) is None
