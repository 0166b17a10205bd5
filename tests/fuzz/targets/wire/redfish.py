"""Resources of a management controller: what is read of them are series, and links stay on the controller."""

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.redfish.logs.events import LogEvents, clock_error_ns
from ingest.collectors.redfish.logs.page import can_skip, count_of, is_rising, members_of
from ingest.collectors.redfish.parse import (
    ROOT,
    Document,
    can_expand,
    link,
    members,
    next_page,
    parse_document,
    samples_of,
    sensor_paths,
)
from telemetry.series import is_series_key

_KINDS = ("Thermal", "Power", "ThermalMetrics", "Fan", "PowerSupply", "PowerSupplyMetrics", "Sensor", "ComputerSystem")
SEEDS = (
    b'{"Temperatures":[{"Name":"CPU1","ReadingCelsius":40,"Status":{"Health":"OK"}}],"Fans":[{"Name":"F","Reading":9}]}',
    b'{"PowerControl":[{"MemberId":"0","PowerConsumedWatts":429,"PowerMetrics":{"MinConsumedWatts":null}}]}',
    b'{"InputPowerWatts":{"DataSourceUri":"/redfish/v1/Chassis/1/Sensors/P","Reading":937.4},"Id":"Bay1"}',
    b'{"Members":[{"@odata.id":"/redfish/v1/Chassis/1"}],"Members@odata.nextLink":"/redfish/v1/Chassis?$skip=1"}',
    b'{"ProtocolFeaturesSupported":{"ExpandQuery":{"NoLinks":true,"Levels":true}},"Chassis":{"@odata.id":"//evil/"}}',
    b'{"Members":[{"@odata.id":"/redfish/v1/L/Entries/7","Id":"7","Created":"2027-01-15T08:00:00+00:00","Severity":'
    b'"Critical","Message":"a\nb","MessageId":"A.1","SensorType":[{"Member":"Fan"}],"SensorNumber":3,"EntryCode":'
    b'"Assert","Links":{"OriginOfCondition":{"@odata.id":"/redfish/v1/Chassis/1"}}},{"@odata.id":"/redfish/v1/L/8"}],'
    b'"Members@odata.count":2,"DateTime":"2027-01-15T10:00:00+02:00"}',
)


_NOW_NS = 1_800_000_000 * NS_PER_S
_EVENTS_MAX = 20


def _log(document: Document) -> None:
    events, members = LogEvents("ok", _EVENTS_MAX), members_of(document)
    is_rising(members), count_of(document), can_skip(document)
    for member in members:
        if member.entry is not None:
            events.add(member.entry, clock_error_ns(document, _NOW_NS), _NOW_NS, is_past=False)
    samples = events.reading(_NOW_NS)
    found = TargetSamples("redfish/a", "node1", "redfish", 0).read(Values.of(samples))
    assert len(samples) <= _EVENTS_MAX
    assert found.taken.values.size == len(samples)
    assert not found.layout.unmapped
    assert all(_NOW_NS - 900 * NS_PER_S < sample.value * NS_PER_S <= _NOW_NS for sample in samples)
    assert all(map(is_series_key, found.layout.table.keys))


def target(data: bytes) -> None:
    try:
        document = parse_document(data, "/redfish/v1/x")
    except BadInput:
        return
    can_expand(document)
    _log(document)
    paths = [path for path, _ in members(document)] + [next_page(document), link(document, "Chassis")]
    assert all(path.startswith(ROOT) for path in {*paths, *sensor_paths(document)} - {""})
    for kind in _KINDS:
        try:
            samples = samples_of(kind, document, {"chassis": "1", "role": "host", "supply": "1"})
        except BadInput:
            continue
        found = TargetSamples("redfish/a", "node1", "redfish", 0).read(Values.of(samples))
        assert all(map(is_series_key, found.layout.table.keys))
