"""grafanalib's JSON in the form of Grafana's own schema: no nulls, no dead keys, objects where objects belong."""

from typing import Any

# grafanalib writes keys of Grafana's past; Grafana's schema knows none of them.
_DEAD_DASHBOARD = ("rows", "hideControls", "sharedCrosshair", "style", "__inputs", "gnetId", "inputs", "timePicker")
_DEAD_PANEL = (
    *("color", "mappings", "editable", "error", "height", "span", "minSpan"),
    *("isNew", "columns", "fontSize", "showHeader", "styles"),
)
_DEAD_TARGET = ("intervalFactor", "metric", "step", "target", "query")
_DEAD_VARIABLE = ("useTags", "tagsQuery", "tagValuesQuery", "auto", "auto_count", "auto_min")
_THRESHOLDS = "thresholds"


def normalise(dashboard: dict[str, Any]) -> dict[str, Any]:
    """A new document; the old one is not changed."""
    cleaned = _without(_plain(dashboard), _DEAD_DASHBOARD)
    cleaned["panels"] = [_panel(panel) for panel in cleaned["panels"]]
    cleaned["templating"] = {"list": [_variable(variable) for variable in cleaned["templating"]["list"]]}
    cleaned["timepicker"] = _without(cleaned["timepicker"], ("time_options",))
    return cleaned


def _panel(panel: dict[str, Any]) -> dict[str, Any]:
    panel = _without(panel, _DEAD_PANEL)
    panel.pop(_THRESHOLDS, None)  # ours are in fieldConfig
    panel["targets"] = [_without(target, _DEAD_TARGET) for target in panel["targets"]]
    return panel


def _variable(variable: dict[str, Any]) -> dict[str, Any]:
    variable = _without(variable, _DEAD_VARIABLE)
    variable["current"] = {}
    if variable["type"] == "query":
        if variable.get("includeAll"):
            variable["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
        variable["query"] = {"query": variable["query"], "refId": f"variable-{variable['name']}"}
    return variable


def _plain(value: Any) -> Any:
    """grafanalib's objects as dicts, and every null left out except a threshold's first value."""
    if hasattr(value, "to_json_data"):
        return _plain(value.to_json_data())
    if isinstance(value, dict):
        is_step = value.keys() == {"value", "color"}
        return {key: _plain(inside) for key, inside in value.items() if inside is not None or is_step}
    if isinstance(value, list | tuple):
        return [_plain(inside) for inside in value]
    return value


def _without(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in keys}
