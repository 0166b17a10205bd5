"""What a PromQL expression names, as far as rules about boards need it."""

import re
from collections.abc import Iterator

from dashboards.own_series import OWN_SERIES
from telemetry.catalogue import metrics

GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORDS = re.compile(r"(?<![\w.:])[a-zA-Z_:][a-zA-Z0-9_:]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACES = re.compile(r"\{[^}]*\}")
_RANGES = re.compile(r"\[[^\]]*\]")
_CALLED = re.compile(r"\b(rate|increase|sum)\s*\(")
_FUNCTIONS = {
    *("rate", "increase", "deriv", "max_over_time", "min_over_time", "avg_over_time", "last_over_time", "end"),
    *("max", "min", "avg", "sum", "count", "stddev", "quantile", "topk", "bottomk", "absent"),
    *("time", "timestamp", "vector", "label_replace", "floor", "clamp_min", "clamp_max", "sort_desc"),
    *("or", "and", "unless", "bool"),
}
# Units of which one axis can hold several: they differ by a factor or are one thing by its rate.
_ALIKE = {
    **dict.fromkeys(("bytes", "bytes_per_second", "bits", "bits_per_second"), "data"),
    **dict.fromkeys(("joules", "watts"), "power"),
}


def metrics_named(expr: str) -> set[str]:
    """The metrics that an expression reads.

    >>> sorted(metrics_named('topk(3, sum by (device) (rate(a_total{x="b"}[5m])) / c_bytes > 1e+06)'))
    ['a_total', 'c_bytes']
    """
    return set(_WORDS.findall(without_noise(expr))) - _FUNCTIONS


def units_of(expr: str) -> frozenset[str]:
    """Units of the catalogue's metrics in it; those that can share an axis are one.

    >>> sorted(units_of("8 * rate(fabric_port_transmit_bytes_total[1m]) / fabric_port_speed_bits_per_second"))
    ['data']
    """
    known = metrics()
    units = (known[name].unit for name in metrics_named(expr) if name in known and not name.endswith("_info"))
    return frozenset(_ALIKE.get(unit, unit) for unit in units)


def unknown_metrics(expr: str) -> list[str]:
    """Names that are neither in the catalogue nor written by Fabricscope itself."""
    return sorted(metrics_named(expr) - OWN_SERIES - set(metrics()))


def calls(expr: str) -> Iterator[tuple[str, str]]:
    """Each function with the text in its parentheses.

    >>> list(calls("sum  (rate(a)) / rate(b)"))
    [('sum', 'rate(a)'), ('rate', 'a'), ('rate', 'b')]
    """
    expr = without_noise(expr)
    for call in _CALLED.finditer(expr):
        depth, end = 1, call.end()
        while depth and end < len(expr):
            depth += {"(": 1, ")": -1}.get(expr[end], 0)
            end += 1
        yield call[1], expr[call.end() : end - 1]


def without_noise(expr: str) -> str:
    """Without texts, label matchers, ranges and groupings."""
    for noise in (_QUOTED, _BRACES, _RANGES, GROUPING):
        expr = noise.sub(" ", expr)
    return expr
