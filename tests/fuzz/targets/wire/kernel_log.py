"""Lines of kernel logs: whatever they say of a GPU is a bounded number of samples that the catalogue maps."""

from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.kernel_log.records import (
    GpuName,
    Sxid,
    Xid,
    dmesg,
    driver_record,
    fabric_manager,
    journal_json,
    kmsg,
    syslog,
)
from ingest.collectors.kernel_log.sxids import SERIES_MAX, HostSxids
from ingest.collectors.kernel_log.xids import CODES_MAX, GPUS_MAX, HostXids
from telemetry.series import is_series_key

_TEXT = b"NVRM: Xid (PCI:0000:41:00 GPU-I:01): 31, pid=9, name=python3"
SEEDS = (
    b"3,12,3600000000,-;" + _TEXT,
    b"<4>2023-11-14T22:13:20+00:00 node1 kernel: [123.456] " + _TEXT,
    b"[Sun Feb 23 16:24:18 2025] NVRM: GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d\n[1.5] " + _TEXT,
    b'{"_TRANSPORT":"kernel","_HOSTNAME":"node1","__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":"' + _TEXT + b'"}',
    b"[1.5] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)\n"
    b"[1.6] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Severity 0 Engine instance 32",
    b"[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id "
    b"00000000:86:00.0 physical id 3 port 33",
)


def target(data: bytes) -> None:
    xids, sxids = HostXids({}, 900 * 10**9), HostSxids()
    for text in data.decode("utf-8", "replace").split("\n"):
        for parse in (kmsg(10**18), syslog, dmesg, journal_json, fabric_manager):
            line = parse(text)
            record = driver_record(line.text) if line is not None else None
            if isinstance(record, GpuName):
                xids.name(record.address, record.uuid)
            elif isinstance(record, Xid) and line is not None:
                xids.add(record, line.at_ns)
            elif isinstance(record, Sxid):
                sxids.add(record)
    found = TargetSamples("kernel/node1", "node1", "kernel_log", 0).read(
        Values.of([*xids.reading(10**18), *sxids.reading()])
    )
    assert not found.layout.unmapped
    assert found.taken.values.size <= 1 + GPUS_MAX * (1 + CODES_MAX) + SERIES_MAX
    assert all(map(is_series_key, found.layout.table.keys))
