"""Which records are the owner's, by the order of their partition."""

import sqlite3

import pytest

from bus.base import Record
from bus.owner import epochs_table
from bus.owner.fence import EPOCH, ROLE, ROLES_MAX, OwnerFence, RoleInPartition


def record(epoch: bytes | None, topic: str = "t", partition: int = 0, role: bytes | None = None) -> Record:
    headers = ({} if epoch is None else {EPOCH: epoch}) | ({} if role is None else {ROLE: role})
    return Record(topic, partition, 0, 0, b"k", b"v", headers)


@pytest.mark.parametrize(
    ("epochs", "admitted"),
    [
        ([b"5", b"5", b"6", b"6"], [True, True, True, True]),
        ([b"5", b"7", b"6", b"5", b"7", b"8"], [True, True, False, False, True, True]),
        ([b"7", None, b"6", None], [True, True, False, True]),
    ],
)
def test_an_owner_publishes_no_more_behind_a_newer_one(epochs, admitted):
    fence = OwnerFence()
    assert [fence.admits(record(epoch)) for epoch in epochs] == admitted


@pytest.mark.parametrize("header", [b"", b"-3", b"1e9", b" 9", b"\xff", b"9" * 19 + b"0", b"9" * 19, "٣".encode()])
def test_what_no_owner_of_ours_writes_is_no_epoch(header):
    fence = OwnerFence()
    assert fence.admits(record(header))
    assert fence.newest == {}


def test_partitions_have_an_order_of_their_own():
    fence = OwnerFence()
    assert all(fence.admits(each) for each in (record(b"9"), record(b"5", partition=1), record(b"5", topic="u")))
    fence.forget(("t", 0))
    fence.forget(("never", 0))
    assert fence.admits(record(b"1"))


def test_roles_that_share_a_partition_do_not_concern_each_other():
    fence = OwnerFence()
    published = [
        (b"9", b"a"),
        (b"5", b"b"),
        (b"9", b"a"),
        (b"6", b"b"),
        (b"5", b"b"),
    ]
    assert [fence.admits(record(epoch, role=role)) for epoch, role in published] == [True, True, True, True, False]
    assert fence.admits(record(b"8", role=b"\xff" * 1000))
    fence.forget(("t", 0))
    assert fence.newest == {}


def test_of_very_many_roles_in_a_partition_the_oldest_are_forgotten():
    fence = OwnerFence()
    for epoch in range(1, ROLES_MAX + 2):
        assert fence.admits(record(b"%d" % epoch, role=b"ingest-%d" % epoch))
    assert len(fence.newest) == ROLES_MAX
    assert not fence.admits(record(b"1", role=b"ingest-2"))
    assert fence.admits(record(b"0", role=b"ingest-1"))


def test_a_restart_goes_on_with_the_epochs_that_were_saved():
    place = RoleInPartition("t", 0, "")
    with sqlite3.connect(":memory:") as database:
        database.execute(epochs_table.EPOCHS.definition)
        for newest in ({place: 3, RoleInPartition("u", 1, "alerts-0a"): 2**63 - 1}, {place: 4}):
            epochs_table.write_epochs(database, newest)
            assert epochs_table.read_epochs(database) == newest
    fence = OwnerFence({place: 4})
    assert [fence.admits(record(epoch)) for epoch in (b"3", b"4")] == [False, True]
