"""What Grafana would ask Prometheus for a board, and the answers: the document that ``grafana_preview/page`` draws."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from common.units import seconds
from tests.servers.prometheus import Prometheus

ALL_VALUE = "$__all"  # how Grafana writes All into an address


@dataclass(frozen=True, slots=True)
class Range:
    """The time range of a board, in seconds since the Unix epoch, and the time between two samples."""

    start_s: float
    end_s: float
    step_s: int

    def aligned(self) -> "Range":
        """From and to multiples of the step, as Grafana asks."""
        return Range(self.start_s // self.step_s * self.step_s, self.end_s // self.step_s * self.step_s, self.step_s)

    def macros(self) -> dict[str, str]:
        """Grafana's own variables; a rate goes over four samples."""
        span_s = round(self.end_s - self.start_s)
        return {
            "__rate_interval_ms": f"{4000 * self.step_s}",
            "__rate_interval": f"{4 * self.step_s}s",
            "__interval_ms": f"{1000 * self.step_s}",
            "__interval": f"{self.step_s}s",
            "__range_ms": f"{1000 * span_s}",
            "__range_s": f"{span_s}",
            "__range": f"{span_s}s",
        }


def board_document(board: Mapping[str, Any], prometheus: Prometheus, shown: Range) -> dict[str, Any]:
    """``BoardDocument`` of ``page/document.ts``, with every variable at its default."""
    shown = shown.aligned()
    variables: list[dict[str, str]] = []
    for variable in board["templating"]["list"]:  # one may depend on those before it
        variables.append(_variable(variable, prometheus, shown, _expand(shown, variables)))
    expand = _expand(shown, variables)
    return {
        "board": board,
        "answers": {panel["id"]: _answers(panel, prometheus, shown, expand) for panel in board["panels"]},
        "annotations": [
            _annotation(one, prometheus, shown, expand) for one in board["annotations"]["list"] if one.get("expr")
        ],
        "variables": variables,
        "fromMs": shown.start_s * 1000,
        "toMs": shown.end_s * 1000,
    }


def variable_values(
    prometheus: Prometheus, query: str, regex: str = "", at_s: float | None = None
) -> list[tuple[str, str]]:
    """Values of a variable and their texts, sorted by text.

    query: ``label_values(selector, label)`` or ``query_result(expression)``; ValueError else. regex: Grafana's, which
    takes value and text out of what the query gave.
    """
    if match := re.fullmatch(r"query_result\((.+)\)", query):
        found = [_line(series) for series in prometheus.query(match[1], at_s)]
    elif match := re.fullmatch(r"label_values\((.+), *(\w+)\)", query):
        found = prometheus.label_values(match[1], match[2])
    else:
        raise ValueError(f"{query}: expected label_values(selector, label) or query_result(expression)")
    pairs = {_taken(regex, one) for one in found}
    return sorted((pair for pair in pairs if pair is not None), key=lambda pair: pair[1])


def _line(series: Mapping[str, Any]) -> str:
    """One result as Grafana shows it to a variable's regex."""
    labels = dict(series["metric"])
    name = labels.pop("__name__", "")
    pairs = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
    at_s, value = series["value"]
    return f"{name}{{{pairs}}} {value} {at_s * 1000:.0f}"


def _taken(regex: str, found: str) -> tuple[str, str] | None:
    """Value and text; None where the regex does not match."""
    if not regex:
        return found, found
    match = re.search(regex.strip("/").replace("(?<", "(?P<"), found)
    if match is None:
        return None
    named = match.groupdict()
    value = named.get("value") or named.get("text") or (match[1] if match.re.groups else match[0])
    return value, named.get("text") or value


def _expand(shown: Range, variables: Iterable[Mapping[str, str]]) -> Callable[[str], str]:
    values = shown.macros() | {one["name"]: one["expression"] for one in variables}

    def expanded(text: str) -> str:
        # What is no variable stays: $1 belongs to label_replace.
        return re.sub(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))", lambda found: values.get(found[1] or found[2], found[0]), text)

    return expanded


def _variable(
    variable: Mapping[str, Any], prometheus: Prometheus, shown: Range, expand: Callable[[str], str]
) -> dict[str, str]:
    """All where it is offered; else the first value, as Grafana chooses on first sight."""
    name, kind = variable["name"], variable["type"]
    found = {"name": name, "label": variable.get("label") or name}
    if kind == "datasource":
        return found | {"value": "prometheus", "text": "Prometheus", "expression": "prometheus"}
    if variable.get("includeAll"):
        return found | {"value": ALL_VALUE, "text": "All", "expression": variable.get("allValue") or ".*"}
    if kind == "query":
        query = expand(variable["query"]["query"])
        values = variable_values(prometheus, query, variable.get("regex") or "", shown.end_s)
        if not values:
            raise ValueError(f"{name}: {query} has no value")
        value, text = values[0]
        return found | {"value": value, "text": text, "expression": value}
    return found | dict.fromkeys(("value", "text", "expression"), str(variable["current"]["value"]))


def _answers(
    panel: Mapping[str, Any], prometheus: Prometheus, shown: Range, expand: Callable[[str], str]
) -> list[dict[str, Any]]:
    return [
        {
            "refId": target["refId"],
            "legendFormat": target.get("legendFormat", ""),
            "format": target.get("format", "time_series"),
            "stepMs": shown.step_s * 1000,
            "result": _ask(target, prometheus, shown, expand),
        }
        for target in panel.get("targets", ())
        if not target.get("hide")
    ]


def _ask(
    target: Mapping[str, Any], prometheus: Prometheus, shown: Range, expand: Callable[[str], str]
) -> list[dict[str, Any]]:
    expression = expand(target["expr"])
    if target.get("instant"):
        return prometheus.query(expression, shown.end_s)
    return prometheus.query_range(expression, shown.start_s, shown.end_s, shown.step_s)


def _annotation(
    annotation: Mapping[str, Any], prometheus: Prometheus, shown: Range, expand: Callable[[str], str]
) -> dict[str, Any]:
    """Asked at the step of its own; samples that are a step apart are one region, as in Grafana."""
    own_step_s = round(seconds(annotation.get("step") or "1m"))
    shown = replace(shown, step_s=max(own_step_s, shown.step_s)).aligned()
    series = prometheus.query_range(expand(annotation["expr"]), shown.start_s, shown.end_s, shown.step_s)
    regions = [
        {
            "fromMs": start_s * 1000,
            "toMs": end_s * 1000,
            "text": _filled(annotation.get("titleFormat", ""), one["metric"]),
        }
        for one in series
        for start_s, end_s in _runs([float(at_s) for at_s, _ in one["values"]], shown.step_s)
    ]
    return {"name": annotation["name"], "colour": annotation["iconColor"], "regions": regions}


def _filled(text: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: labels.get(found[1], ""), text)


def _runs(times_s: list[float], step_s: float) -> list[tuple[float, float]]:
    """First and last of each run of times that are a step apart."""
    runs: list[tuple[float, float]] = []
    for time_s in times_s:
        if runs and time_s - runs[-1][1] <= step_s:
            runs[-1] = (runs[-1][0], time_s)
        else:
            runs.append((time_s, time_s))
    return runs
