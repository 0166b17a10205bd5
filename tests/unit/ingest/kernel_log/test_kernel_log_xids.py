"""Which XID a GPU has, and how often there was each."""

from ingest.collectors.kernel_log.records import Xid
from ingest.collectors.kernel_log.xids import CODES_MAX, GPUS_MAX, HostXids

SECOND = 10**9
HOLD_NS = 900 * SECOND
ADDRESS = "0000:9b:00"


def last(xids: HostXids, at_s: float) -> dict[str, float]:
    """Of each GPU."""
    return {one.labels["gpu"]: one.value for one in xids.reading(round(at_s * SECOND)) if one.name == "xid_last"}


def counts(xids: HostXids, at_s: float) -> dict[str, float]:
    """Of each code."""
    return {
        one.labels["xid"]: one.value for one in xids.reading(round(at_s * SECOND)) if one.name == "xid_errors_total"
    }


def test_a_gpu_that_the_driver_lists_has_none_and_shows_its_first_one_at_once() -> None:
    xids = HostXids({ADDRESS: "GPU-1"}, HOLD_NS)
    assert last(xids, 0) == {"GPU-1": 0}
    xids.add(Xid(ADDRESS, 79), 5 * SECOND)
    assert last(xids, 5) == {"GPU-1": 79}


def test_a_gpu_that_nobody_listed_begins_with_none_so_that_its_first_one_is_no_history() -> None:
    xids = HostXids({}, HOLD_NS)
    xids.add(Xid(ADDRESS, 79), 0)
    assert [last(xids, 0), last(xids, 5)] == [{"PCI:0000:9b:00": 0}, {"PCI:0000:9b:00": 79}]


def test_what_stood_in_the_log_before_is_shown_as_it_is() -> None:
    xids = HostXids({}, HOLD_NS)
    xids.add(Xid(ADDRESS, 79), -60 * SECOND, before_start=True)
    assert (last(xids, 0), counts(xids, 0)) == ({"PCI:0000:9b:00": 79}, {"79": 1})


def test_a_burst_is_counted_and_its_gravest_is_the_last_one() -> None:
    xids = HostXids({ADDRESS: "GPU-1"}, HOLD_NS)
    for code in (31, 79, 45, 45, 45):
        xids.add(Xid(ADDRESS, code), SECOND)
    assert counts(xids, 1) == {"31": 0, "79": 0, "45": 0}
    assert counts(xids, 5) == {"31": 1, "79": 1, "45": 3}
    assert last(xids, 5) == {"GPU-1": 79}


def test_of_equally_grave_ones_the_latest_counts() -> None:
    xids = HostXids({ADDRESS: "GPU-1"}, HOLD_NS)
    xids.add(Xid(ADDRESS, 94), 1 * SECOND)
    xids.add(Xid(ADDRESS, 48), 2 * SECOND)
    assert last(xids, 5) == {"GPU-1": 48}


def test_the_same_one_later_is_an_event_again() -> None:
    xids = HostXids({ADDRESS: "GPU-1"}, HOLD_NS)
    seen = []
    for at_s in (0, 899, 900, 1000, 1000 + 900):
        if at_s in (0, 1000):
            xids.add(Xid(ADDRESS, 79), at_s * SECOND)
        seen.append(last(xids, at_s)["GPU-1"])
    assert seen == [79, 79, 0, 79, 0]


def test_instances_are_counted_apart() -> None:
    xids = HostXids({ADDRESS: "GPU-1"}, HOLD_NS)
    for instance in ("1", "1", "2", ""):
        xids.add(Xid(ADDRESS, 31, instance), 0)
    counts(xids, 0)
    found = {one.labels["instance"]: one.value for one in xids.reading(SECOND) if one.name == "xid_errors_total"}
    assert found == {"1": 2, "2": 1, "": 1}


def test_gpus_and_codes_are_bounded() -> None:
    xids = HostXids({}, HOLD_NS)
    assert all(xids.add(Xid(f"{n:04x}:00:00", 79), 0) for n in range(GPUS_MAX))
    assert not xids.add(Xid("ffff:00:00", 79), 0)
    assert all(xids.add(Xid("0000:00:00", code), 0) for code in range(CODES_MAX - 1))
    assert not xids.add(Xid("0000:00:00", 9000), 0)
    assert xids.add(Xid("0000:00:00", 79), 0), "known ones go on"
