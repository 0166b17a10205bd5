"""What is read of an entry of a controller's log, in the shapes that vendors send."""

from dataclasses import replace

import pytest

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.redfish.logs.entry import LogEntry, parse_entry, rank_of
from tests.unit.ingest.redfish.vendor_entries import AT_NS, SOURCES

NONE = LogEntry("", 0, "", "", "", "", "", "")
PSU = "Power Supply / Converter"
GPU_LOST = "The resource property GPU_SXM_1 Driver Event Message has detected errors of type 'XID 79'."
HOT = "Inlet sensor crossed a warning high threshold going high. Reading=41.5 Threshold=40."
READ = {
    "idrac_9": ("26", "critical", "Power supply redundancy is lost.", "1ffff", f"{PSU} 119", "Redundancy Lost", ""),
    "idrac_8": (
        *("13", "critical", "The chassis is open while the power is off.", "802ff"),
        *("Physical Chassis Security 115", "Assert", ""),
    ),
    "ilo": ("16", "critical", "Network Adapter Link Down (Slot 0, Port 1)", "", "", "", ""),
    "supermicro": ("1", "warning", "BBU presence (StorageController0)", "", "Battery 93", "Deassert", ""),
    "ami": ("113", "critical", "0x00FFFF", "AmiIpmiOem.1.0.GeneralEventData", f"{PSU} 230", "", "Chassis/Self/Power"),
    "hgx": (
        *("4308", "critical", GPU_LOST, "ResourceEvent.1.0.ResourceErrorsDetected"),
        *("", "", "Chassis/HGX_GPU_SXM_1"),
    ),
    "openbmc": ("1759999999", "warning", HOT, "OpenBMC.0.1.SensorThresholdWarningHighGoingHigh", "", "", ""),
    "dmtf": (
        *("1", "critical", "Temperature threshold exceeded", "0x592A28"),
        *("Temperature 1", "Upper Critical - going high", "Chassis/1U/Thermal"),
    ),
}


@pytest.mark.parametrize("vendor", SOURCES)
def test_an_entry_is_read_as_each_vendor_sends_it(vendor: str) -> None:
    number, *texts = READ[vendor]
    assert parse_entry(SOURCES[vendor]) == LogEntry(number, AT_NS, *texts)


@pytest.mark.parametrize(
    ("times", "at_ns"),
    [
        ({"Created": "2025-10-09T08:53:20.25Z"}, AT_NS + NS_PER_S // 4),
        ({"Created": "2025-10-09T08:53:30Z", "EventTimestamp": "2025-10-09T08:53:20Z"}, AT_NS),
        ({"Created": "2025-10-09T08:53:20Z", "EventTimestamp": "unknown"}, AT_NS),
        ({"Created": "2025-10-09T08:53:20"}, 0),  # of which zone?
        ({"Created": "2025-10-09T08:53:20+34:07"}, 0),  # sent by an AMI controller
        ({"Created": "0000-00-00T00:00:00Z"}, 0),
        ({"Created": "1970-01-01T00:00:31+00:00"}, 0),
        ({"Created": "9999-12-31T23:59:59-14:00"}, 253402351199 * NS_PER_S),
        ({"Created": "0001-01-01T00:00:00+14:00"}, 0),
        ({"Created": 1760000000}, 0),
        ({"Created": ""}, 0),
        ({}, 0),
    ],
)
def test_times_have_an_offset_or_are_none(times: dict[str, object], at_ns: int) -> None:
    assert parse_entry({"Message": "x", **times}).at_ns == at_ns


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        ({"MessageId": "A.1.0.B"}, {"message_id": "A.1.0.B"}),
        ({"MessageArgs": ["Fan 3", 7, "failed"]}, {"message": "Fan 3, failed"}),
        ({"SensorType": "Fan"}, {"sensor": "Fan"}),
        ({"SensorType": "Fan", "SensorNumber": True}, {"sensor": "Fan"}),
        ({"SensorType": "Fan", "SensorNumber": -1}, {"sensor": "Fan"}),
        ({"Message": " two\r\n lines\t"}, {"message": "two lines"}),
        ({"Message": "a\x00b \x1b[31m\u202ered"}, {"message": "ab [31mred"}),
        ({"Message": "m" * 5000}, {"message": "m" * 200}),
        ({"Message": "x", "Id": 7, "Severity": None, "EntryCode": [], "Links": [1]}, {"message": "x"}),
        ({"Message": "x", "Links": {"OriginOfCondition": {"@odata.id": "//elsewhere/redfish/v1/"}}}, {"message": "x"}),
    ],
)
def test_what_is_missing_or_of_another_type_is_left_out(document: dict[str, object], fields: dict[str, str]) -> None:
    assert parse_entry(document) == replace(NONE, **fields)  # type: ignore[arg-type]  # texts alone


@pytest.mark.parametrize("document", [{}, {"Id": "1", "Severity": "Critical"}, {"Message": 7}, {"Message": " "}])
def test_an_entry_that_says_nothing_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="no Message"):
        parse_entry(document)


def test_an_unknown_severity_may_be_the_worst() -> None:
    assert [rank_of(word) for word in ("ok", "informational", "warning", "critical", "fatal", "")] == [0, 0, 1, 2, 2, 2]
