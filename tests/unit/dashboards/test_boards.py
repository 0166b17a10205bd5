"""Boards without a Grafana: its own types, our lint, and Prometheus' parser."""

import json
import re
import subprocess
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import jsonschema
import pytest
import yaml

from dashboards import boards
from dashboards.boards import ALL
from dashboards.build import build
from dashboards.lint import complain
from dashboards.render import render_board

SCHEMAS = Path(__file__).parents[3] / "build" / "grafana-schema"
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


def wrong(document: object, name: str) -> list[str]:
    errors = jsonschema.Draft7Validator(schema(name)).iter_errors(document)
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
    provisioned = Path(__file__).parents[3] / "deploy" / "grafana" / "dashboards"
    for path in build(tmp_path):
        assert (provisioned / path.name).read_text() == path.read_text(), "run: make boards"
    assert len(list(provisioned.glob("*.json"))) == len(ALL)


def test_every_board_is_listed_and_in_the_document():
    assert len(ALL) == len(list(iter_modules(boards.__path__)))
    document = (Path(__file__).parents[3] / "docs" / "boards.md").read_text()
    assert {uid for uid in BOARDS if f"`{uid}`" not in document} == set()


def test_first_panels_are_freshness_and_completeness():
    for board in BOARDS.values():
        titles = [panel["title"] for panel in board["panels"][:2]]
        assert "Age of the newest sample" in titles[0]
        assert "Targets up" in titles[1]


def test_the_wall_fits_without_scroll():
    panels = BOARDS["fabricscope-noc"]["panels"]
    assert len(panels) <= 9
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) <= 24
