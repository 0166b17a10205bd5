"""Whether a stage is alive and ready, asked of real processes."""

import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import ConfigError
from fabricscope.running.status_pages import StatusPages
from tests.servers.process import free_port
from tests.unit.fabricscope.running.stage_process import StageProcess
from tests.waiting import until

ABSENT = {"kind": "kafka", "kafka": {"bootstrap": ["127.0.0.1:1"]}}
RECEIVER = {"receivers": [{"type": "webhook", "name": "ops", "url": "http://127.0.0.1:1/"}]}
NEEDS: dict[str, dict[str, Any]] = {
    "ingest": {},
    "alerts": {"alerting": RECEIVER},
    "export": {"remote_write": [{"url": "http://127.0.0.1:1/"}]},
    "recorder": {"recording": {"path": "recording"}},
}


@pytest.mark.parametrize("stage", NEEDS)
async def test_a_stage_without_a_broker_runs_is_not_ready_and_says_why(stage: str, tmp_path: Path) -> None:
    process = StageProcess(tmp_path, stage, free_port())
    document = {**NEEDS[stage], "bus": ABSENT}
    if "recording" in document:
        document["recording"] = {"path": str(tmp_path / "recording")}
    process.write(document)
    process.start()
    try:
        await until(lambda: "bus: " in (process.get("/-/ready") or (0, ""))[1])
        status, body = process.get("/-/ready") or (0, "")
        problem = json.loads(body)
        assert status == 503
        assert (problem["status"], problem["errorType"]) == ("error", "unavailable")
        assert problem["error"].startswith("bus: ")
        assert process.get("/-/healthy") == (200, "Fabricscope is healthy.\n")
        assert process.exit_status is None
    finally:
        process.kill()


async def test_a_stage_that_works_is_ready(tmp_path: Path) -> None:
    process = StageProcess(tmp_path, "alerts", free_port())
    process.write({"alerting": RECEIVER})
    process.start()
    try:
        await until(lambda: process.get("/-/ready") == (200, "Fabricscope is ready.\n"))
        page = process.get("/metrics")
        assert page is not None
        assert "fabricscope_alerts_" in page[1]
    finally:
        process.kill()


def test_a_port_that_is_taken_is_named() -> None:
    port = free_port()
    StatusPages("127.0.0.1", port, lambda: None).start()
    with pytest.raises(ConfigError, match=rf"global\.metrics_ports: {port}: Address already in use"):
        StatusPages("127.0.0.1", port, lambda: None).start()
