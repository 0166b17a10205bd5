"""How often there was each SXid of an NVSwitch."""

from ingest.collectors.kernel_log.records import Sxid
from ingest.collectors.kernel_log.sxids import SERIES_MAX, HostSxids

EGRESS = Sxid("nvswitch3", 12028, False, "32")
FAULT = Sxid("nvswitch0", 20034, True, "30")


def counts(sxids: HostSxids) -> dict[tuple[str, str, str, str], float]:
    found = list(sxids.reading())
    assert {one.name for one in found} <= {"sxid_errors_total"}
    names = ("nvswitch", "sxid", "severity", "link")
    return {(one.labels[names[0]], *(one.labels[name] for name in names[1:])): one.value for one in found}  # type: ignore[misc]


def test_each_code_of_each_link_is_counted_and_begins_with_none() -> None:
    sxids = HostSxids()
    for one in (EGRESS, EGRESS, FAULT):
        assert sxids.add(one)
    keys = ("nvswitch3", "12028", "non_fatal", "32"), ("nvswitch0", "20034", "fatal", "30")
    assert counts(sxids) == dict.fromkeys(keys, 0)
    sxids.add(FAULT)
    assert counts(sxids) == dict(zip(keys, (2, 2), strict=True))


def test_what_stood_in_the_log_before_is_shown_as_it_is() -> None:
    sxids = HostSxids()
    sxids.add(FAULT, before_start=True)
    assert list(counts(sxids).values()) == [1]


def test_series_are_bounded_and_known_ones_go_on() -> None:
    sxids = HostSxids()
    assert all(sxids.add(Sxid("nvswitch0", code, True)) for code in range(SERIES_MAX))
    assert not sxids.add(EGRESS)
    assert sxids.add(Sxid("nvswitch0", 7, True))
