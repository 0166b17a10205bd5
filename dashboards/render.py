"""Our panels and boards as Grafana's JSON, by grafanalib."""

from typing import Any
from urllib.parse import quote

from grafanalib.core import (
    Annotations,
    Dashboard,
    GridPos,
    Stat,
    StateTimeline,
    Table,
    Target,
    Template,
    Templating,
    Time,
    TimeSeries,
)

from dashboards.model import BAD, WARN, Board, Panel, Show, Variable
from dashboards.normalise import normalise

SCHEMA_VERSION = 41  # grafanalib's 12 makes Grafana's migration drop the shared crosshair
SHARED_CROSSHAIR = 1
COLUMNS = 24
SEVERITY = "severity"  # the label
SEVERITY_COLOURS = {"critical": BAD, "warning": WARN, "info": "#5794F2"}
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_LABEL_OF = {"host": "device"}  # variables that are not called like the label that fills them
POINTS_MAX = 1000  # grafanalib's 100 would hide microbursts


def render_board(board: Board) -> dict[str, Any]:
    """The dashboard, complete and normalised."""
    places = place(board.panels)
    document = Dashboard(
        title=board.title,
        uid=board.uid,
        description=board.description,
        tags=list(board.tags),
        timezone="utc",
        refresh=board.refresh,
        graphTooltip=SHARED_CROSSHAIR,
        schemaVersion=SCHEMA_VERSION,
        time=Time(board.since, "now"),
        templating=Templating([_data_source(), *map(_variable, board.variables)]),
        annotations=Annotations([_incidents()]),
        panels=[_panel(panel, at) for panel, at in zip(board.panels, places, strict=True)],
    ).to_json_data()
    return normalise(document)


def place(panels: tuple[Panel, ...]) -> list[GridPos]:
    """Row by row, left to right, in order; a row is as high as its highest panel."""
    places, x, y, row_height = [], 0, 0, 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        places.append(GridPos(h=panel.height, w=panel.width, x=x, y=y))
        x, row_height = x + panel.width, max(row_height, panel.height)
    return places


def _panel(panel: Panel, at: GridPos) -> Any:
    common = {
        "id": panel.id,
        "title": panel.title,
        "description": panel.description,
        "gridPos": at,
        "dataSource": DATA_SOURCE,
        "targets": _targets(panel),
        "maxDataPoints": POINTS_MAX,
        "mappings": _mappings(panel),
        "overrides": [*_limit_override(panel), *_severity_override(panel)],
        "extraJson": _field_config(panel),
    }
    if panel.show is Show.STAT:
        return Stat(**common, format=panel.unit, reduceCalc="lastNotNull", colorMode="background", graphMode="none")
    if panel.show is Show.TABLE:
        return Table(**common, unit=panel.unit, transformations=_columns(panel))
    if panel.show is Show.STATES:
        return StateTimeline(**common, showValue="never")
    return TimeSeries(
        **common,
        unit=panel.unit,
        showPoints="never",
        fillOpacity=8,
        tooltipMode="multi",
        tooltipSort="desc",
        legendDisplayMode="list",  # a table beside the lines takes most of the panel and cuts the names
        legendPlacement="bottom",
    )


def _targets(panel: Panel) -> list[Target]:
    at_once = panel.show in (Show.STAT, Show.TABLE)
    queries = [*panel.queries, *([panel.limit] if panel.limit else [])]
    return [
        Target(
            expr=query.expr,
            legendFormat=query.legend,
            refId=chr(ord("A") + number),
            format="table" if panel.show is Show.TABLE else "time_series",
            instant=at_once,
            datasource=DATA_SOURCE,
        )
        for number, query in enumerate(queries)
    ]


def _field_config(panel: Panel) -> dict[str, Any]:
    """What grafanalib cannot say, merged over what it wrote: typed thresholds, links, decimals and bounds."""
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {
            "mode": "absolute",
            "steps": [{"value": step.value, "color": step.colour} for step in panel.steps],
        },
        "color": {"mode": "thresholds" if panel.show in (Show.STAT, Show.STATES) else "palette-classic"},
        "links": _links(panel),
        "noValue": "no data",
    }
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    if panel.maximum is not None:
        defaults |= {"min": 0, "max": panel.maximum}
    if panel.show is Show.LINES and len(panel.steps) > 1:
        defaults["custom"] = {"thresholdsStyle": {"mode": "dashed"}}
    return {"fieldConfig": {"defaults": defaults}}


def _links(panel: Panel) -> list[dict[str, Any]]:
    if panel.drill_down is None:
        return []
    uid, filled = panel.drill_down
    variables = "".join(f"&var-{name}=${{__field.labels.{_LABEL_OF.get(name, name)}}}" for name in filled)
    url = f"/d/{quote(uid)}?${{__url_time_range}}&${{datasource:queryparam}}&${{cluster:queryparam}}{variables}"
    return [{"title": "Open the next level", "url": url, "targetBlank": False}]


def _mappings(panel: Panel) -> list[dict[str, Any]]:
    if not panel.states:
        return []
    options = {
        str(value): {"text": text, "color": colour, "index": index}
        for index, (value, (text, colour)) in enumerate(panel.states.items())
    }
    return [{"type": "value", "options": options}]


def _limit_override(panel: Panel) -> list[dict[str, Any]]:
    if panel.limit is None:
        return []
    dashed = [
        {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
        {"id": "color", "value": {"mode": "fixed", "fixedColor": "text"}},
    ]
    return [{"matcher": {"id": "byName", "options": panel.limit.legend}, "properties": dashed}]


def _severity_override(panel: Panel) -> list[dict[str, Any]]:
    """Cells in the colour of the severity that they name."""
    if SEVERITY not in panel.columns:
        return []
    options = {
        severity: {"text": severity, "color": colour, "index": index}
        for index, (severity, colour) in enumerate(SEVERITY_COLOURS.items())
    }
    coloured = [
        {"id": "mappings", "value": [{"type": "value", "options": options}]},
        {"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}},
    ]
    return [{"matcher": {"id": "byName", "options": panel.columns[SEVERITY]}, "properties": coloured}]


def _columns(panel: Panel) -> list[dict[str, Any]]:
    order = {label: index for index, label in enumerate(panel.columns)}
    return [
        {"id": "filterFieldsByName", "options": {"include": {"names": list(panel.columns)}}},
        {"id": "organize", "options": {"indexByName": order, "renameByName": dict(panel.columns), "excludeByName": {}}},
    ]


def _data_source() -> Template:
    return Template(name="datasource", label="Data source", type="datasource", query="prometheus", refresh=1)


def _variable(variable: Variable) -> Template:
    return Template(
        name=variable.name,
        label=variable.label,
        query=variable.query,
        dataSource=DATA_SOURCE,
        includeAll=True,
        allValue=".*",
        multi=True,
        default="All",
        refresh=2,  # on time range change: an old range shows the names of its time
        sort=1,
    )


def _incidents() -> dict[str, Any]:
    """A region from the moment an incident fires until it is resolved."""
    return {
        "name": "Incidents",
        "datasource": DATA_SOURCE,
        "enable": True,
        "iconColor": "red",
        "expr": 'fabricscope_incident{cluster=~"$cluster",state="firing"} == 1',
        "titleFormat": "{{kind}} at {{root}}",
        "textFormat": "{{severity}} {{incident_id}}",
        "step": "10s",
    }
