"""Rules about what a panel looks like: one unit, a legend that fits, as many lines as promised, states with colours."""

import re
from collections.abc import Iterator
from typing import Any

from dashboards.expressions import units_of
from dashboards.model import Show

_PROMISED = re.compile(r"\b(\d+) (?:at most|[a-z]+est\b|worst\b|[A-Za-z]+ (?:at most|with)|most\b)")
_CHOSEN = re.compile(r"\b(?:topk|bottomk)\((\d+),")
_ONE_VALUE = re.compile(r"\(*(?:(?:sum|avg|count|min|max)\s*\(|topk\(1,)")
_PORT_STATE = re.compile(r"\b(?:fabric_port_up|nic_up)\b")
_PICKS_DOWN = re.compile(r"== 0\b|\bbottomk\(")


def complain_about_look(panel: dict[str, Any]) -> Iterator[str]:
    """Without the panel's name."""
    expressions = [target["expr"] for target in panel["targets"]]
    yield from _units(expressions)
    yield from _promise(panel["title"], expressions)
    if panel["type"] == Show.LINES:
        legend = panel["options"]["legend"]
        if (legend["displayMode"], legend["placement"]) != ("list", "bottom"):
            yield "a legend other than a list below the lines takes their room and cuts names"
    if panel["type"] == Show.STATES and not _has_colours(panel):
        yield "states without a text and a colour of their own are one block"
    if panel["type"] == Show.STAT and not all(map(_ONE_VALUE.match, expressions)):
        yield "several tiles are too small to read, expected one value: sum, avg, …, or topk(1, …)"
    for expr in expressions:
        if _PORT_STATE.search(expr) and _PICKS_DOWN.search(expr) and "[1d])" not in expr:
            yield f"lists ports without a cable as down, expected queries.cabled or queries.down: {expr}"


def _units(expressions: list[str]) -> Iterator[str]:
    """Ratios name several units; two queries are alike when they name the same ones."""
    units = {units for units in map(units_of, expressions) if units}
    if len(units) > 1 and not _limits_of_data(units):
        yield f"two units on one axis: {' and '.join(sorted(', '.join(sorted(each)) for each in units))}"


def _limits_of_data(units: set[frozenset[str]]) -> bool:
    return len({unit for each in units for unit in each}) == 1


def _promise(title: str, expressions: list[str]) -> Iterator[str]:
    promised = _PROMISED.search(title)
    chosen = {int(n) for expr in expressions for n in _CHOSEN.findall(expr)} - {1}
    if promised and chosen != {int(promised[1])}:
        yield f"the title promises {promised[1]}, the query chooses {', '.join(map(str, sorted(chosen))) or 'all'}"
    if chosen and not promised:
        yield f"the query chooses {', '.join(map(str, sorted(chosen)))}, and the title says nothing of it"


def _has_colours(panel: dict[str, Any]) -> bool:
    defaults = panel["fieldConfig"]["defaults"]
    mapped = [option for mapping in defaults.get("mappings", []) for option in mapping["options"].values()]
    steps = {step["color"] for step in defaults["thresholds"]["steps"]}
    return (
        bool(mapped)
        and all(option.get("text") and option.get("color") for option in mapped)
        and len({option["color"] for option in mapped}) == len(mapped)
        and "text" not in steps
    )
