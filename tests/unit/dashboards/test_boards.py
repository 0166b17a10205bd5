"""Boards without a Grafana: its own types, our lint, and Prometheus' parser."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import jsonschema
import pytest
import yaml

from dashboards import boards
from dashboards.boards import ALL
from dashboards.build import build
from dashboards.expressions import metrics_named
from dashboards.lint import complain
from dashboards.model import Level
from dashboards.own_series import OWN_SERIES
from dashboards.render import render_board
from telemetry.boards import BOARD_OF
from telemetry.kinds import Domain

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "build" / "grafana-schema"
BOARDS = {board.uid: render_board(board) for board in ALL}
# An annotation holds its data source's own keys beside Grafana's; the schema knows only Grafana's.
ANNOTATION_KEYS_OF_PROMETHEUS = ("expr", "step", "titleFormat", "textFormat")
MACROS = {"$__rate_interval": "1m", "$__interval": "15s", "$__range": "1h"}


def schema(name: str) -> dict[str, Any]:
    """Grafana's schema with missing keys allowed: it fills its own defaults when it loads a board."""
    document = json.loads((SCHEMAS / f"{name}.json").read_text())
    allowed: dict[str, Any] = _without_required(document)
    return allowed


def _without_required(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_required(inside)
            for key, inside in value.items()
            if not (key == "required" and isinstance(inside, list))
        }
    return [_without_required(inside) for inside in value] if isinstance(value, list) else value


@cache
def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema(name))


def wrong(document: object, name: str) -> list[str]:
    errors = validator(name).iter_errors(document)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors]


def expressions(board: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def without_macros(expr: str) -> str:
    for macro, value in MACROS.items():
        expr = expr.replace(macro, value)
    return re.sub(r"\$[a-z]+", ".*", expr)


@pytest.mark.parametrize("uid", BOARDS)
def test_a_board_fits_grafanas_types(uid):
    board = json.loads(json.dumps(BOARDS[uid]))
    for annotation in board["annotations"]["list"]:
        for key in ANNOTATION_KEYS_OF_PROMETHEUS:
            del annotation[key]
    assert wrong(board, "dashboard") == []


@pytest.mark.parametrize(
    ("uid", "panel"), [(uid, panel["id"]) for uid, board in BOARDS.items() for panel in board["panels"]]
)
def test_a_panel_fits_the_types_of_its_plugin(uid, panel):
    document = next(one for one in BOARDS[uid]["panels"] if one["id"] == panel)
    kind = document["type"].replace("-", "")
    assert wrong(document["options"], f"{kind}-options") == []
    if kind != "stat":  # has no custom field options
        assert wrong(document["fieldConfig"]["defaults"].get("custom", {}), f"{kind}-custom") == []


def test_the_schema_finds_a_wrong_type():
    broken = json.loads(json.dumps(BOARDS["fabricscope-noc"]))
    broken["panels"][0]["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"] = 5
    broken["panels"][0]["gridPos"]["w"] = "wide"
    assert wrong(broken, "dashboard")


def test_boards_keep_every_rule():
    assert complain(list(BOARDS.values())) == []


def test_prometheus_accepts_every_expression(tmp_path):
    rules = [
        {"record": f"board:{number}", "expr": without_macros(expr)}
        for number, expr in enumerate(expr for board in BOARDS.values() for expr in expressions(board))
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "boards", "rules": rules}]}))
    checked = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def test_the_provisioned_files_are_the_generated_ones(tmp_path):
    """What docker-compose mounts into Grafana is what the code says today."""
    provisioned = ROOT / "deploy" / "grafana" / "dashboards"
    for path in build(tmp_path):
        assert (provisioned / path.name).read_text() == path.read_text(), "run: make boards"
    assert len(list(provisioned.glob("*.json"))) == len(ALL)


def test_every_board_is_listed_and_in_the_document():
    assert len(ALL) == len(list(iter_modules(boards.__path__)))
    document = (ROOT / "docs" / "boards.md").read_text()
    assert {uid for uid in BOARDS if f"`{uid}`" not in document} == set()


def test_first_panels_are_freshness_and_completeness():
    for board in BOARDS.values():
        titles = {panel["id"]: panel["title"] for panel in board["panels"] if panel["gridPos"]["y"] == 0}
        assert titles[1].startswith("Age of the newest sample")
        assert titles[2].startswith("Targets up")


def test_the_wall_fits_without_scroll():
    panels = BOARDS["fabricscope-noc"]["panels"]
    assert len(panels) <= 9
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) <= 24


def test_there_are_all_three_levels():
    levels = [board.level for board in ALL]
    assert levels.count(Level.WALL) == 1
    assert levels.count(Level.DOMAIN) >= 10
    assert levels.count(Level.OBJECT) >= 5


def test_domains_of_incidents_have_a_board():
    assert set(BOARD_OF) == set(Domain)
    assert set(BOARD_OF.values()) <= set(BOARDS)


def test_series_of_our_own_are_documented():
    documents = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("own-metrics", "remote-write"))
    prometheus = {name for name in OWN_SERIES if name.startswith("process_")}
    assert {name for name in OWN_SERIES - prometheus if not re.search(rf"`{name}\b", documents)} == set()


DCGMS_OWN = {  # what dashboard 12239 of grafana.com shows, NVIDIA's for dcgm-exporter
    "gpu_temperature_celsius",
    "gpu_power_watts",
    "gpu_sm_clock_hertz",
    "gpu_utilization_ratio",
    "gpu_memory_used_bytes",
    "gpu_tensor_active_ratio",
}


def test_the_gpu_board_shows_more_than_nvidias():
    board = BOARDS["fabricscope-gpu"]
    asked = {name for expr in expressions(board) for name in metrics_named(expr)}
    assert asked >= DCGMS_OWN | {"gpu_nvlink_bytes_per_second", "gpu_pcie_bytes_per_second", "gpu_memory_free_bytes"}
    assert "gpu" in {variable["name"] for variable in board["templating"]["list"]}
