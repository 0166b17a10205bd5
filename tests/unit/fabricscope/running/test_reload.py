"""Settings that are read again: by a real stage, and by all stages of ``fabricscope run``."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.errors import ConfigError
from fabricscope.api.access.audit import AuditLog
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.running.children import StageChildren, stages_of
from fabricscope.running.reload import Reload, changed_keys
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import Stage
from tests.servers.process import free_port
from tests.unit.fabricscope.running.stage_process import StageProcess
from tests.waiting import DEADLINE_S, until

SUCCESSFUL = "fabricscope_config_last_reload_successful"
SUCCESS_TIME = "fabricscope_config_last_reload_success_timestamp_seconds"


def webhook(name: str) -> dict[str, Any]:
    return {"receivers": [{"type": "webhook", "name": name, "url": "http://127.0.0.1:1/"}]}


@pytest.fixture
def alerts(tmp_path: Path) -> Iterator[StageProcess]:
    process = StageProcess(tmp_path, "alerts", free_port())
    process.write({"alerting": webhook("first")})
    process.start()
    yield process
    process.kill()


async def test_a_reload_with_an_error_changes_nothing_and_a_good_one_starts_the_stage_again(
    alerts: StageProcess,
) -> None:
    await until(lambda: alerts.logged("stage runs"))
    assert alerts.metric(SUCCESSFUL) == 1
    began_s = alerts.metric(SUCCESS_TIME)

    good = alerts.settings.read_text()
    alerts.settings.write_text(good.replace("alerting:", "alerting:\n  quiet: 5"))
    alerts.send(signal.SIGHUP)
    await until(lambda: alerts.metric(SUCCESSFUL) == 0)
    assert "settings not reloaded" in alerts.log.read_text()
    assert f"{alerts.settings}:2:" in alerts.log.read_text()
    assert "alerting.quiet: unknown key" in alerts.log.read_text()
    assert alerts.metric(SUCCESS_TIME) == began_s
    assert alerts.logged("stage stopped") == 0

    alerts.settings.write_text(good)
    alerts.send(signal.SIGHUP)
    await until(lambda: alerts.metric(SUCCESSFUL) == 1)
    assert alerts.logged("changed=nothing") == 1
    assert alerts.logged("stage stopped") == 0

    alerts.write({"alerting": webhook("second")})
    alerts.send(signal.SIGHUP)
    await until(lambda: alerts.logged("stage runs") == 2)
    assert alerts.logged("changed=alerting.receivers") == 1
    assert alerts.logged("stage stopped") == 1
    assert alerts.exit_status is None, "it is the same process"
    alerts.send(signal.SIGTERM)
    await until(lambda: alerts.exit_status is not None)
    assert alerts.exit_status == 0


def settings_of(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


RECEIVERS = webhook("ops")
JOB = {"job_name": "hosts", "source": "node_exporter", "static_configs": [{"targets": ["127.0.0.1:1"]}]}


@pytest.mark.parametrize(
    ("changed", "keys", "concerned"),
    [
        ({}, [], set()),
        ({"alerting": RECEIVERS}, ["alerting.receivers"], {Stage.ALERTS}),
        ({"api": {"port": 1}}, ["api.port"], {Stage.API}),
        ({"scrape_configs": [JOB]}, ["scrape_configs"], {Stage.INGEST}),
        ({"ingest": {"instance": "b"}}, ["ingest.publish", "ingest.instance"], {Stage.INGEST}),
        ({"remote_write": [{"url": "http://127.0.0.1:1"}]}, ["remote_write"], {Stage.EXPORT}),
        ({"recording": {"path": "r"}}, ["recording"], {Stage.RECORDER}),
        ({"analytics": {"snapshot_every_s": 7}}, ["analytics.snapshot_every_s"], {Stage.ANALYTICS, Stage.RECORDER}),
        ({"global": {"metrics_host": "::1"}}, ["global.metrics_host"], set(Stage)),
    ],
)
def test_a_stage_is_started_again_for_what_concerns_it_alone(
    changed: dict[str, Any], keys: list[str], concerned: set[Stage]
) -> None:
    assert changed_keys(settings_of(), settings_of(**changed)) == keys
    found = {stage for stage in Stage if Reload(stage, settings_of(), settings_of)._concerned(keys)}
    assert found == concerned


async def test_what_only_the_stage_itself_can_tell_is_an_error_of_the_reload_too(tmp_path: Path) -> None:
    """A recorder without a path is found when it is built."""
    old = settings_of(recording={"path": str(tmp_path)})
    reload = Reload(Stage.RECORDER, old, settings_of)
    with pytest.raises(ConfigError, match="recording"):
        reload.read()


@pytest.mark.parametrize(
    ("document", "stages"),
    [
        ({}, ["ingest", "analytics", "api"]),
        ({"alerting": RECEIVERS}, ["ingest", "analytics", "alerts", "api"]),
        ({"remote_write": [{"url": "http://127.0.0.1:1"}]}, ["ingest", "analytics", "export", "api"]),
        ({"recording": {"path": "r"}}, ["ingest", "analytics", "recorder", "api"]),
    ],
)
def test_only_stages_with_something_to_do_are_started(document: dict[str, Any], stages: list[str]) -> None:
    assert stages_of(settings_of(**document)) == stages


class Program:
    """``fabricscope run`` with a settings file that a test changes."""

    def __init__(self, folder: Path) -> None:
        self.settings, self.data, self.port = folder / "pod1.yaml", folder / "data", free_port()
        self.output = folder / "run.log"
        self.write({})
        with self.output.open("wb") as output:
            command = [sys.executable, "-m", "fabricscope", "run", "--config", str(self.settings)]
            self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def write(self, document: dict[str, Any]) -> None:
        ports = dict.fromkeys(("ingest", "analytics", "alerts", "export", "recorder"), 0)
        shared = {"data_dir": str(self.data), "metrics_ports": ports}
        self.settings.write_text(yaml.safe_dump({"global": shared, "api": {"port": self.port}, **document}))

    def logged(self, stage: str, words: str) -> int:
        log = self.data / "logs" / f"{stage}.log"
        return log.read_text().count(words) if log.exists() else 0

    def post(self, secret: str) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/-/reload", b"{}", headers)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    running = Program(tmp_path)
    yield running
    running.process.terminate()
    running.process.wait(DEADLINE_S)


async def test_an_administrator_reloads_all_stages_and_the_audit_log_says_who(program: Program) -> None:
    await until(lambda: [program.logged(one, "stage runs") for one in ("ingest", "analytics", "api")] == [1, 1, 1])
    state_dir = program.data / "api"
    secrets = {
        scope: TokenStore(state_dir).create(scope, [scope], lasts_s=3600.0, now_ns=time.time_ns())[1]
        for scope in (Scope.ACK, Scope.ADMIN)
    }
    assert (await asyncio.to_thread(program.post, secrets[Scope.ACK]))[0] == 403

    program.write({"alerting": {"receivers": [{"type": "pigeon"}]}})
    status, refused = await asyncio.to_thread(program.post, secrets[Scope.ADMIN])
    assert status == 400
    assert f"{program.settings}:3:5: alerting.receivers.0: " in refused["error"]

    program.write({"alerting": RECEIVERS})  # a stage that was not needed before
    status, reloaded = await asyncio.to_thread(program.post, secrets[Scope.ADMIN])
    assert (status, reloaded) == (200, {"changed": ["alerting.receivers"]})
    await until(lambda: program.logged("alerts", "stage runs") == 1)
    await until(lambda: program.logged("ingest", "changed=alerting.receivers") == 1)

    program.write({"scrape_configs": [JOB]})  # the alerts stage goes, ingest starts again
    os.kill(program.process.pid, signal.SIGHUP)
    await until(lambda: program.logged("alerts", "stage stopped") == 1)
    await until(lambda: program.logged("ingest", "stage runs") == 2)
    assert program.logged("analytics", "stage stopped") == program.logged("api", "stage stopped") == 0

    program.settings.write_text("api: [\n")
    os.kill(program.process.pid, signal.SIGHUP)
    await until(lambda: "settings not reloaded" in program.output.read_text())
    assert program.process.poll() is None

    lines = [json.loads(line) for line in AuditLog(state_dir).file.read_text().splitlines()]
    found = [(line["who"], line["action"], line["result"], line.get("changed")) for line in lines]
    assert found == [
        ("ack", "POST /-/reload", "403", None),
        ("admin", "POST /-/reload", "400", None),
        ("admin", "POST /-/reload", "200", "alerting.receivers"),
    ]


async def test_children_of_settings_with_an_error_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("api: {port: x}\n")
    with pytest.raises(ConfigError, match=r"a\.yaml:1:7"):
        StageChildren(tmp_path / "a.yaml")
    assert load_settings(None).api.port == 9099
