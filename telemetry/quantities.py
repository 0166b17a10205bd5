"""Values as people read them: ``1.09 GHz``, ``61 %``, ``12 ms``. The NOC page writes them alike (``quantities.js``)."""

import math

_SYMBOLS = {
    "hertz": "Hz",
    "bytes": "B",
    "bytes/s": "B/s",
    "bytes_per_second": "B/s",
    "bits": "bit",
    "bits/s": "bit/s",
    "bits_per_second": "bit/s",
    "watts": "W",
    "joules": "J",
    "volts": "V",
    "amperes": "A",
}
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_WITHOUT_PREFIX = {"celsius": "°C", "kelvin": "K", "dbm": "dBm", "rpm": "rpm", "none": "", "state": "", "severity": ""}
_SHARE_MIN = 1e-4  # below it a ratio is an error rate, which people read as a power of ten
_MINUTES_FROM_S = 600.0


def quantity(value: float, unit: str) -> str:
    """Three digits and the unit, with a prefix of the SI where it has one. What follows the unit's first word stays.

    unit: a unit of the catalogue, a noun in the plural, or either with a qualifier (``ratio at most``).

    >>> [quantity(1.089e9, "hertz"), quantity(0.61, "ratio at most"), quantity(0.0123, "seconds")]
    ['1.09 GHz', '61 % at most', '12.3 ms']
    """
    base, _, qualifier = unit.partition(" ")
    return f"{_quantity(value, base)} {qualifier}".strip()


def _quantity(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "unknown"
    if unit == "bool":
        return "yes" if value else "no"
    if unit == "XID":
        return f"XID {value:g}"
    if unit == "ratio":
        return _share(value)
    if unit == "seconds":
        return _time(value)
    if unit in _SYMBOLS:
        return _prefixed(value, _SYMBOLS[unit])
    return f"{_number(value)} {_WITHOUT_PREFIX.get(unit, _counted(value, unit))}".strip()


def _share(value: float) -> str:
    return _number(value) if 0.0 < abs(value) < _SHARE_MIN else f"{_number(100.0 * value)} %"


def _time(value: float) -> str:
    return f"{_number(value / 60.0)} min" if abs(value) >= _MINUTES_FROM_S else _prefixed(value, "s", largest=1.0)


def _prefixed(value: float, symbol: str, largest: float = math.inf) -> str:
    """With the prefix that leaves one to three digits before the point; none for 0 and what is too small for one."""
    size = abs(float(f"{value:.3g}"))
    factor, prefix = next(((f, p) for f, p in _PREFIXES if f <= largest and size >= f), (1.0, ""))
    return f"{_number(value / factor)} {prefix}{symbol}"


def _counted(value: float, noun: str) -> str:
    """``1 frame``, ``2 frames``, ``1 frame/s``, ``1 process``."""
    of, slash, time = noun.partition("/")
    one = of.removesuffix("es") if of.endswith("sses") else of.removesuffix("s")
    return f"{one}{slash}{time}" if value == 1.0 else noun


def _number(value: float) -> str:
    """Three digits, or all that stand before the point; a power of ten where that needs more than four zeros."""
    rounded = float(f"{value:.3g}")
    if rounded == 0.0:
        return "0"
    if abs(rounded) < 1e-3 or abs(rounded) >= 1e9:
        mantissa, exponent = f"{rounded:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    if abs(rounded) >= 100.0:
        return f"{round(value) if abs(value) < 1e6 else round(rounded):,}"
    return f"{rounded:g}"
