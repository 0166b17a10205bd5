"""Units of the catalogue as Grafana's ids, and as people read them in a title."""

from typing import NamedTuple

from telemetry.catalogue import Kind, metrics


class Unit(NamedTuple):
    """id: Grafana's. text: of a title."""

    id: str
    text: str


_FEW = Unit("sci", "errors a bit")  # a ratio of errors: 5e-9, and not 0.0000005 %
SHARE_OF_TIME = Unit("percentunit", "% of time")
PERCENT = Unit("percentunit", "%")
_GAUGES = {
    "bytes": Unit("bytes", "B"),
    "ratio": PERCENT,
    "celsius": Unit("celsius", "°C"),
    "watts": Unit("watt", "W"),
    "hertz": Unit("hertz", "Hz"),
    "dbm": Unit("suffix: dBm", "dBm"),  # Grafana's own id dBm writes dbm
    "amperes": Unit("amp", "A"),
    "volts": Unit("volt", "V"),
    "seconds": Unit("s", "s"),
    "bits_per_second": Unit("bps", "bit/s"),
    "bytes_per_second": Unit("Bps", "B/s"),
    "rpm": Unit("rotrpm", "rpm"),
}
_RATES = {
    "bytes": Unit("Bps", "B/s"),
    "seconds": SHARE_OF_TIME,
    "joules": Unit("watt", "W"),
    "packets": Unit("pps", "packets/s"),
    "frames": Unit("pps", "frames/s"),
    "operations": Unit("ops", "operations/s"),
    "codewords": Unit("cps", "codewords/s"),  # many, so with a prefix of the SI
}


def unit_of(metric: str) -> Unit:
    """Of a gauge, its own; of a counter, that of its rate. A noun in the plural stands for itself.

    >>> unit_of("gpu_power_watts"), unit_of("gpu_ecc_errors_total")
    (Unit(id='watt', text='W'), Unit(id='suffix: errors/s', text='errors/s'))
    """
    found = metrics()[metric]
    if found.kind is Kind.COUNTER:
        return _RATES.get(found.unit, Unit(f"suffix: {found.unit}/s", f"{found.unit}/s"))
    if metric.endswith("_error_ratio"):
        return _FEW
    return _GAUGES.get(found.unit, Unit("none", found.unit))
