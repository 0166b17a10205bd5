"""Entries of logs in the shapes that vendors send, made in their likeness.

idrac_9: an issue of bb-Ricardo/check_redfish (#4). idrac_8: one of mrlhansen/idrac_exporter (#26), where words stand in
a list of objects. ilo: HPE's documents of the IML of iLO 4 to 6. supermicro: an issue of
jenningsloy318/redfish_exporter (#16). ami: Cray's documents of MegaRAC. hgx: tests of a client of NVIDIA's HGX
baseboards. openbmc: what bmcweb writes of a threshold. dmtf: the mockup of a rack server.
"""

from typing import Any

SOURCES: dict[str, dict[str, Any]] = {
    "idrac_9": {
        "@odata.id": "/redfish/v1/Managers/iDRAC.Embedded.1/LogServices/Sel/Entries/26",
        "Created": "2025-10-09T02:53:20-06:00",
        "EntryCode": "Redundancy Lost",
        "EntryType": "SEL",
        "Id": "26",
        "Links": {},
        "Message": "Power supply redundancy is lost.",
        "MessageArgs": [],
        "MessageId": "1ffff",
        "SensorNumber": 119,
        "SensorType": "Power Supply / Converter",
        "Severity": "Critical",
    },
    "idrac_8": {
        "@odata.id": "/redfish/v1/Managers/iDRAC.Embedded.1/Logs/Sel/13",
        "Created": "2025-10-09T03:53:20-05:00",
        "EntryCode": [{"Member": "Assert"}],
        "EntryType": "SEL",
        "Id": "13",
        "Message": "The chassis is open while the power is off.",
        "MessageId": "802ff",
        "SensorNumber": 115,
        "SensorType": [{"Member": "Physical Chassis Security"}],
        "Severity": "Critical",
    },
    "ilo": {
        "@odata.id": "/redfish/v1/Systems/1/LogServices/IML/Entries/16/",
        "Created": "2025-10-09T08:53:20Z",
        "EntryType": "Oem",
        "Id": "16",
        "Message": "Network Adapter Link Down (Slot 0, Port 1)",
        "Oem": {"Hpe": {"Class": 17, "Code": 2, "EventNumber": 108, "Repaired": False}},
        "OemRecordFormat": "Hpe-IML",
        "Severity": "Critical",
    },
    "supermicro": {
        "@odata.id": "/redfish/v1/Systems/1/LogServices/Log1/Entries/1",
        "Created": "2025-10-09T08:53:20+00:00",
        "EntryCode": "Deassert",
        "EntryType": "Event",
        "Id": "1",
        "Message": "BBU presence (StorageController0)",
        "MessageArgs": ["ArrayOfMessageArgs"],
        "SensorNumber": 93,
        "SensorType": "Battery",
        "Severity": "Warning",
    },
    "ami": {
        "@odata.id": "/redfish/v1/Chassis/Self/LogServices/Logs/Entries/113",
        "EventTimestamp": "2025-10-09T08:53:20+00:00",
        "Id": "113",
        "Links": {"OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/Self/Power"}},
        "Message": "0x00FFFF",
        "MessageId": "AmiIpmiOem.1.0.GeneralEventData",
        "SensorNumber": 230,
        "SensorType": "Power Supply / Converter",
        "Severity": "Critical",
    },
    "hgx": {
        "@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0/LogServices/EventLog/Entries/4308",
        "AdditionalDataURI": "/redfish/v1/Systems/HGX_Baseboard_0/LogServices/EventLog/Entries/4308/attachment",
        "Created": "2025-10-09T08:53:20+00:00",
        "EntryType": "Event",
        "Id": "4308",
        "Links": {"OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/HGX_GPU_SXM_1"}},
        "Message": "The resource property GPU_SXM_1 Driver Event Message has detected errors of type 'XID 79'.",
        "MessageArgs": ["GPU_SXM_1 Driver Event Message", "XID 79"],
        "MessageId": "ResourceEvent.1.0.ResourceErrorsDetected",
        "Oem": {"Nvidia": {"Device": "GPU_SXM_1"}},
        "Resolution": "Restart the GPU.",
        "Resolved": False,
        "Severity": "Critical",
    },
    "openbmc": {
        "@odata.id": "/redfish/v1/Systems/system/LogServices/EventLog/Entries/1759999999",
        "Created": "2025-10-09T08:53:20+00:00",
        "EntryType": "Event",
        "Id": "1759999999",
        "Message": "Inlet sensor crossed a warning high threshold going high. Reading=41.5 Threshold=40.",
        "MessageArgs": ["Inlet", "41.5", "40"],
        "MessageId": "OpenBMC.0.1.SensorThresholdWarningHighGoingHigh",
        "Severity": "Warning",
    },
    "dmtf": {
        "@odata.id": "/redfish/v1/Systems/437XR1138R2/LogServices/Log1/Entries/1",
        "Created": "2025-10-09T08:53:20Z",
        "EntryCode": "Upper Critical - going high",
        "EntryType": "SEL",
        "Id": "1",
        "Links": {"OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/1U/Thermal"}, "Oem": {}},
        "Message": "Temperature threshold exceeded",
        "MessageId": "0x592A28",
        "SensorNumber": 1,
        "SensorType": "Temperature",
        "Severity": "Critical",
    },
}
AT_NS = 1_760_000_000 * 10**9
"""When all of them were logged."""
