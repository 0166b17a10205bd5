"""The dial-out receivers' own metrics; those of messages and updates are gNMI's."""

from prometheus_client import Counter, Gauge

_PREFIX = "fabricscope_ingest_gnmi_dialout_"

STREAMS = Gauge(_PREFIX + "streams", "Publish calls of devices.", ["job"])
CALLS_REFUSED = Counter(
    _PREFIX + "calls_refused_total", "Publish calls refused or ended, by status.", ["job", "status"]
)
