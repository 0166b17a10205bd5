"""Our panels and boards as Grafana's JSON, by grafanalib."""

from typing import Any
from urllib.parse import quote

from grafanalib.core import (
    Annotations,
    Dashboard,
    DashboardLink,
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

from dashboards.annotations import annotations
from dashboards.model import NEUTRAL, SEVERITIES, Board, Level, Panel, Show, States, Step, Variable
from dashboards.normalise import normalise
from dashboards.queries import LABEL_OF

SCHEMA_VERSION = 41  # grafanalib's 12 makes Grafana's migration drop the shared crosshair
SHARED_CROSSHAIR = 1
COLUMNS = 24
SEVERITY = "severity"  # the label
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "fabricscope"
_WIDTHS = {  # pixels, of labels whose values are short
    "severity": 110,
    "kind": 150,
    "board": 180,
    "incident_id": 170,
    "Value": 120,
    "index": 80,
    "driver": 110,
    "device": 110,
    "rack": 90,
    "pod": 90,
    "job_id": 110,
    "detector": 170,
    "user": 110,
    "intent": 130,
    "component": 130,
}
_SHARE_AXIS = 0.1  # the least that an axis of shares reaches to
POINTS_MAX = 1000  # grafanalib's 100 would hide microbursts


def render_board(board: Board) -> dict[str, Any]:
    """The dashboard, complete and normalised."""
    places = place(board.panels)
    document = Dashboard(
        title=board.title,
        uid=board.uid,
        description=board.description,
        tags=[TAG, board.level, *board.tags],
        timezone="utc",
        refresh=board.refresh,
        graphTooltip=SHARED_CROSSHAIR,
        schemaVersion=SCHEMA_VERSION,
        time=Time(board.since, "now"),
        templating=Templating([_data_source(), *map(_variable, board.variables)]),
        annotations=Annotations(annotations(DATA_SOURCE)),
        links=_board_links(board.level),
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
        "overrides": [
            *_limit_override(panel),
            *_colour_overrides(panel),
            *_text_overrides(panel),
            *_width_overrides(panel),
        ],
        "extraJson": _field_config(panel),
    }
    if panel.show is Show.STAT:
        text = "value_and_name" if panel.with_name else "value"
        return Stat(
            **common,
            format=panel.unit,
            reduceCalc="lastNotNull",
            colorMode="none" if panel.steps is NEUTRAL and not panel.states else "background",
            graphMode="none",
            textMode=text,
        )
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
            "steps": [{"value": step.value, "color": step.colour} for step in _steps(panel)],
        },
        "color": {"mode": "palette-classic" if panel.show is Show.LINES else "thresholds"},
        "links": _links(panel),
        "noValue": _no_value(panel),
    }
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    if panel.maximum is not None:
        defaults |= {"min": 0, "max": panel.maximum}
    if panel.show is Show.LINES:
        custom: dict[str, Any] = {"thresholdsStyle": {"mode": "dashed"}} if len(panel.steps) > 1 else {}
        if panel.unit == "percentunit":  # of zeros alone, Grafana's own axis goes to 10000 %
            custom |= {"axisSoftMin": 0, "axisSoftMax": _SHARE_AXIS}
        if panel.unit == "Bps":  # of a nearly constant rate, the axis says 1.00 MB/s, 1 MB/s and 1000 kB/s
            custom |= {"axisSoftMin": 0}
        if custom:
            defaults["custom"] = custom
    options = {"options": {"legend": {"showLegend": False}}} if panel.show is Show.STATES else {}
    return {"fieldConfig": {"defaults": defaults}, **options}


def _no_value(panel: Panel) -> str:
    """What an empty panel says: lists of what is wrong are empty when nothing is."""
    expressions = [query.expr for query in panel.queries]
    if panel.show is Show.TABLE or any(
        all(part in expr for expr in expressions) for part in ("fabricscope_finding_active", "@ end()) < 1)")
    ):
        return "none"
    return "none above 0" if all("@ end()) > 0)" in expr for expr in expressions) else "no data"


def _steps(panel: Panel) -> tuple[Step, ...]:
    """Of states without steps, the colours of their values: what draws by steps alone would be one white block."""
    values = sorted(value for value in panel.states if isinstance(value, int))
    if not values or len(panel.steps) > 1:
        return panel.steps
    first, *others = values
    return (Step(None, panel.states[first][1]), *(Step(value, panel.states[value][1]) for value in others))


def _links(panel: Panel) -> list[dict[str, Any]]:
    if panel.drill_down is None:
        return []
    # a table holds labels as columns, and a series of lines as labels
    source = "__data.fields" if panel.show is Show.TABLE else "__field.labels"
    to = panel.drill_down
    board = f"${{{source}.{to.board}}}" if to.by_column else quote(to.board)
    # By itself Grafana encodes a value as a whole address, in which & and # have a meaning.
    variables = "".join(f"&var-{name}=${{{source}.{LABEL_OF.get(name, name)}:percentencode}}" for name in to.filled)
    url = f"/d/{board}?${{__url_time_range}}&${{datasource:queryparam}}&${{cluster:queryparam}}{variables}"
    return [{"title": "Open the next level", "url": url, "targetBlank": False}]


def _board_links(level: Level) -> list[DashboardLink]:
    """To all boards, with time range and variables: beside, down, and back up to the wall."""
    wall = DashboardLink(title="NOC wall", type="link", uri=f"/d/{TAG}-noc", keepTime=True, includeVars=True)
    lists = [
        DashboardLink(title=title, type="dashboards", tags=[TAG, of], asDropdown=True, keepTime=True, includeVars=True)
        for title, of in (("Domains", Level.DOMAIN), ("Objects", Level.OBJECT))
    ]
    return lists if level is Level.WALL else [wall, *lists]


def _mappings(panel: Panel) -> list[dict[str, Any]]:
    return [_mapping(panel.states)] if panel.states else []


def _mapping(states: States) -> dict[str, Any]:
    options = {
        str(value): {"text": text, "color": colour, "index": index}
        for index, (value, (text, colour)) in enumerate(states.items())
    }
    return {"type": "value", "options": options}


def _limit_override(panel: Panel) -> list[dict[str, Any]]:
    if panel.limit is None:
        return []
    dashed = [
        {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
        {"id": "color", "value": {"mode": "fixed", "fixedColor": "text"}},
        {"id": "custom.fillOpacity", "value": 0},  # an area below a limit lies over the lines
        {"id": "links"},  # without a value: none, as it has no labels to fill one. [] would be added to the panel's
    ]
    return [{"matcher": {"id": "byName", "options": panel.limit.legend}, "properties": dashed}]


def _colour_overrides(panel: Panel) -> list[dict[str, Any]]:
    return [
        {
            "matcher": {"id": "byName", "options": legend},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
        for legend, colour in panel.colours.items()
    ]


def _text_overrides(panel: Panel) -> list[dict[str, Any]]:
    """Cells with the text and in the colour of what they say."""
    texts = {**({SEVERITY: SEVERITIES} if SEVERITY in panel.columns else {}), **panel.texts}
    return [
        {
            "matcher": {"id": "byName", "options": panel.columns[column]},
            "properties": [
                {"id": "mappings", "value": [_mapping(states)]},
                {"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}},
            ],
        }
        for column, states in texts.items()
    ]


def _width_overrides(panel: Panel) -> list[dict[str, Any]]:
    """Short columns leave their room to the long ones, which would be cut."""
    return [
        {
            "matcher": {"id": "byName", "options": heading},
            "properties": [{"id": "custom.width", "value": _WIDTHS[label]}],
        }
        for label, heading in panel.columns.items()
        if label in _WIDTHS
    ]


def _columns(panel: Panel) -> list[dict[str, Any]]:
    order = {label: index for index, label in enumerate(panel.columns)}
    hidden = [panel.sort_by] if panel.sort_by else []
    shown = {"indexByName": order, "renameByName": dict(panel.columns), "excludeByName": dict.fromkeys(hidden, True)}
    return [
        {"id": "filterFieldsByName", "options": {"include": {"names": [*panel.columns, *hidden]}}},
        *({"id": "sortBy", "options": {"fields": {}, "sort": [{"field": label}]}} for label in hidden),
        {"id": "organize", "options": shown},
    ]


def _data_source() -> Template:
    return Template(name="datasource", label="Data source", type="datasource", query="prometheus", refresh=1)


def _variable(variable: Variable) -> Template:
    every = {} if variable.single else {"includeAll": True, "allValue": ".*", "multi": True, "default": "All"}
    return Template(
        name=variable.name,
        label=variable.label,
        query=variable.query,
        dataSource=DATA_SOURCE,
        regex=variable.pattern or None,
        refresh=2,  # on time range change: an old range shows the names of its time
        sort=1,
        **every,
    )
