"""Resources of a management controller: what is read of them are series, and links stay on the controller."""

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.redfish.parse import (
    ROOT,
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
)


def target(data: bytes) -> None:
    try:
        document = parse_document(data, "/redfish/v1/x")
    except BadInput:
        return
    can_expand(document)
    paths = [path for path, _ in members(document)] + [next_page(document), link(document, "Chassis")]
    assert all(path.startswith(ROOT) for path in {*paths, *sensor_paths(document)} - {""})
    for kind in _KINDS:
        try:
            samples = samples_of(kind, document, {"chassis": "1", "role": "host", "supply": "1"})
        except BadInput:
            continue
        found = TargetSamples("redfish/a", "node1", "redfish", 0).read(Values.of(samples))
        assert all(map(is_series_key, found.layout.table.keys))
