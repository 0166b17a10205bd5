"""What nvidia-smi prints: it is read or refused, and what is read are series."""

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nvidia_smi.parse import parse_gpus
from telemetry.series import is_series_key

_GPU = (
    b"<gpu id='0'><uuid>GPU-1</uuid><pci><pci_bus_id>00000000:01:00.0</pci_bus_id></pci><mig_devices><mig_device>"
    b"<gpu_instance_id>3</gpu_instance_id><fb_memory_usage><used>12 MiB</used></fb_memory_usage></mig_device>"
    b"</mig_devices><temperature><gpu_temp>27 C</gpu_temp></temperature><performance_state>P0</performance_state></gpu>"
)
SEEDS = (
    b'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd"><nvidia_smi_log>' + _GPU + b"</nvidia_smi_log>",
    b'<!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log>&b;</nvidia_smi_log>',
)


def target(data: bytes) -> None:
    try:
        samples = parse_gpus(data)
    except BadInput:
        return
    found = TargetSamples("nvidia-smi/node1", "node1", "nvidia_smi", 0).read(Values.of(samples))
    assert all(map(is_series_key, found.layout.table.keys))
