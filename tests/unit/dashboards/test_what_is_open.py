"""What the boards say of incidents, as a real Prometheus answers it: nothing known is not nothing open."""

import time
from typing import Any

import pytest

from dashboards.boards import ALL
from dashboards.model import BAD
from dashboards.render import render_board
from tests.acceptance.made_series import Series, write_series
from tests.servers.prometheus import Prometheus
from tests.unit.dashboards.test_boards import without_macros

BOARDS = {board.uid: render_board(board) for board in ALL}
UP: Series = ("up", {"device": "node1", "target": "dcgm/node1"}, 1.0)


def incident(name: str, severity: str, cost: float) -> tuple[Series, Series]:
    labels = {
        "incident_id": name,
        "severity": severity,
        "state": "firing",
        "kind": "link_down",
        "root": f"device:{name}",
    }
    return ("fabricscope_incident", labels, 1.0), ("fabricscope_incident_gpu_seconds_total", labels, cost)


def panel(uid: str, number: int) -> dict[str, Any]:
    return next(dict(one) for one in BOARDS[uid]["panels"] if one["id"] == number)


def answers(prometheus: Prometheus, uid: str, number: int) -> list[dict[str, Any]]:
    (target,) = panel(uid, number)["targets"]
    return prometheus.query(without_macros(target["expr"]))


@pytest.mark.parametrize("uid", BOARDS)
def test_without_a_target_the_first_tiles_say_so_in_red(prometheus: Prometheus, uid: str) -> None:
    for number in (1, 2, 3):
        (only,) = answers(prometheus, uid, number)
        shown = panel(uid, number)["fieldConfig"]["defaults"]["mappings"][0]["options"][only["value"][1]]
        assert (shown["text"], shown["color"]) == ("■ no data", BAD)


def test_with_targets_they_are_numbers(prometheus: Prometheus) -> None:
    write_series(prometheus.write_url, [UP], time.time())
    (age,), (up,), (open_now,) = (answers(prometheus, "fabricscope-noc", number) for number in (1, 2, 3))
    assert (age["metric"], up["value"][1], open_now["value"][1]) == ({"source": "dcgm"}, "1", "0")
    assert float(age["value"][1]) >= 0


def test_a_critical_incident_that_cost_nothing_yet_is_on_each_list(prometheus: Prometheus) -> None:
    """Of eleven, in which ten warnings have cost more."""
    warnings = [incident(f"warning{n}", "warning", 1000.0 + n) for n in range(10)]
    news = incident("news", "critical", 0.0)
    write_series(prometheus.write_url, [UP, *news, *(one for pair in warnings for one in pair)], time.time())
    for uid, number in (("fabricscope-noc", 10), ("fabricscope-incidents", 10), ("fabricscope-incidents", 4)):
        found = [one["metric"]["incident_id"] for one in answers(prometheus, uid, number)]
        assert len(found) == 10
        assert "news" in found
    rows = answers(prometheus, "fabricscope-noc", 10)
    rows.sort(key=lambda row: str(row["metric"]["order"]))  # as the panel's transformation does, which keeps ties
    assert [row["metric"]["incident_id"] for row in rows] == ["news", *(f"warning{n}" for n in range(9, 0, -1))]
    assert {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": "order"}]}} in panel("fabricscope-noc", 10)[
        "transformations"
    ]
