"""Compiles what collectors decode with, which otherwise happens when the first one of a kind starts on a machine, for
seconds: ``python -m ingest.warm_up``.
"""

from ingest.collectors.cisco_mdt.decode import decoder as cisco_mdt
from ingest.collectors.exposition.decode import body as exposition
from ingest.collectors.gnmi.decode import decoder as gnmi
from ingest.collectors.kafka_topics.decode import scan_events, scan_lines, scan_metrics, scan_notifications
from ingest.collectors.otlp.decode import decoder as otlp
from ingest.collectors.otlp.decode import json_layout as otlp_json
from ingest.collectors.remote_write.decode import body as remote_write

_PARTS = (
    *(cisco_mdt, exposition, gnmi, otlp, otlp_json, remote_write),
    *(scan_events, scan_lines, scan_metrics, scan_notifications),
)


def warm_up() -> None:
    for part in _PARTS:
        part.warm_up()


if __name__ == "__main__":
    warm_up()
