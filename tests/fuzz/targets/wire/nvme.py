"""The JSON of nvme smart-log: whatever it is, its values have a name and their drive."""

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nvme.parse import add_drive

SEEDS = (
    b'{"critical_warning":4,"temperature":311,"percent_used":3,"data_units_read":"1200345","temperature_sensor_1":0}',
    b'{"critical_warning":{"value":1,"available_spare":1},"media_errors":1.5e30,"avail_spare":null}',
)


def target(data: bytes) -> None:
    values = Values()
    try:
        add_drive(values, "nvme0", data)
    except BadInput:
        return
    assert all(dict(labels)["drive"] == "nvme0" for _, labels in values.names)
    TargetSamples("nvme/node1", "node1", "nvme", 0).read(values)
