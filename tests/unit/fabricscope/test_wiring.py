"""Small parts of the program: clocks, stages, what ends a process, and the demo's folder."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
import yaml

from bus.base import Bus
from common.errors import ConfigError
from export.remote_write.stage import ExportStage
from fabricscope import demo
from fabricscope.api.config import ApiConfig, is_loopback
from fabricscope.api.service import ApiService
from fabricscope.clock import SimulatedTime, event_clock
from fabricscope.demo import beside_another
from fabricscope.running.stopping import SUPERVISED, parent_is_gone, stop_on_signals
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import Stage, build, new_manifest
from fabricscope.version import VERSION
from tests.waiting import DEADLINE_S

NS = 1_000_000_000


@pytest.mark.parametrize(("speed", "passed_s", "event_s"), [(1.0, 5, 105.0), (10.0, 5, 150.0), (0.5, 4, 102.0)])
def test_simulated_time_passes_at_its_own_speed(speed, passed_s, event_s):
    simulated = SimulatedTime(wall_ns=1000 * NS, event_ns=100 * NS, speed=speed)
    clock = event_clock(simulated, lambda: (1000 + passed_s) * NS)
    assert clock() == int(event_s * NS)


def test_without_a_simulation_event_time_is_the_wall_clock():
    assert event_clock(None) is time.time_ns


async def test_a_stage_is_built_from_its_section(bus: Bus):
    assert isinstance(build(Stage.API, Settings(), bus), ApiService)
    assert isinstance(build(Stage.EXPORT, Settings(), bus), ExportStage)
    with pytest.raises(ConfigError, match="recording: the recorder needs its path"):
        build(Stage.RECORDER, Settings(), bus)


def test_a_new_manifest_holds_what_a_replay_needs():
    settings = Settings.model_validate({"global": {"cluster": "pod1"}, "analytics": {"engine": {"interval_s": 5}}})
    manifest = new_manifest(settings, {("fabricscope.samples.v1", 3): 70})
    assert (manifest.cluster, manifest.program, manifest.analytics["interval_s"]) == ("pod1", VERSION, 5.0)
    assert manifest.offsets == {"fabricscope.samples.v1/3": 70}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_asks_to_stop(number):
    stopping = stop_on_signals()
    try:
        assert not stopping.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopping.wait(), DEADLINE_S)
    finally:
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(each)


async def test_without_a_supervisor_no_parent_is_missed(monkeypatch):
    monkeypatch.delenv(SUPERVISED, raising=False)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(parent_is_gone(), 0.01)


async def test_the_parent_is_gone_when_another_has_taken_its_place(monkeypatch):
    monkeypatch.setenv(SUPERVISED, "1")
    parents = iter([4711, 1])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    await asyncio.wait_for(parent_is_gone(), DEADLINE_S)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("node1", False), ("localhost.evil.example", False)),
    ],
)
def test_what_is_loopback(host, loopback):
    assert is_loopback(host) is loopback


SECURED = {"tls_cert_file": "c", "tls_key_file": "k"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"host": "0.0.0.0"}, "reachable from elsewhere"),
        ({"connections_max": 100, "streams_max": 51}, "expected at most half of connections_max 100"),
        ({"host": "0.0.0.0", "bearer_token_file": "t"}, "reachable from elsewhere"),
        ({"tls_cert_file": "c"}, "belong together"),
        ({"tls_key_file": "k"}, "belong together"),
        ({"port": 65536}, "less than or equal to 65535"),
    ],
)
def test_an_api_that_would_be_open_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        ApiConfig.model_validate(values)


@pytest.mark.parametrize(
    "values", [{}, {"host": "::1"}, {"host": "0.0.0.0", **SECURED}, {"host": "::", "trusted_network": True}]
)
def test_an_api_that_is_closed_or_meant_to_be_open_is_accepted(values):
    ApiConfig.model_validate(values)


@pytest.mark.parametrize(
    ("values", "needed"),
    [
        ({}, False),
        ({"token_for_reading": True}, True),
        ({"bearer_token_file": "t"}, True),
        ({"host": "0.0.0.0", **SECURED}, True),
        ({"host": "0.0.0.0", "trusted_network": True}, False),
        ({"host": "0.0.0.0", "trusted_network": True, "bearer_token_file": "t"}, True),
    ],
)
def test_where_everybody_may_read(values, needed):
    assert ApiConfig.model_validate(values).reading_needs_token is needed


@pytest.mark.parametrize("marker", ["demo", "practice"])
def test_a_folder_of_an_earlier_demo_is_emptied(tmp_path, marker):
    (tmp_path / marker).touch()
    (tmp_path / "bus.sqlite").write_text("old")
    demo._empty(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]


@pytest.mark.parametrize("exists", [True, False])
def test_an_empty_or_missing_folder_becomes_a_demos(tmp_path, exists):
    folder = tmp_path / "deep" / "demo"
    if exists:
        folder.mkdir(parents=True)
    demo._empty(folder)
    assert [path.name for path in folder.iterdir()] == ["demo"]


def test_a_second_demo_listens_on_its_own_port_alone():
    first = {"global": {"cluster": "simulated", "data_dir": "/d"}, "api": {"port": 9099}, "gnmi_configs": []}
    second = beside_another(first, 9100)
    settings = Settings.model_validate(second)
    assert (settings.api.port, settings.general.cluster) == (9100, "simulated")
    assert set(settings.general.metrics_ports.model_dump().values()) == {0}
    assert first["api"] == {"port": 9099}


async def test_a_simulator_that_does_not_start_is_reported_with_its_log(tmp_path: Path, monkeypatch):
    started: list[str] = []

    class Dead:
        def __init__(self, name: str, arguments: list[str], log_path: Path) -> None:
            self.log_path = log_path

        async def start(self) -> None:
            started.append("start")

        async def stop(self) -> None:
            started.append("stop")

        async def refusal(self) -> str:
            return await asyncio.Future()

    monkeypatch.setattr(demo, "Child", Dead)
    monkeypatch.setattr(demo, "SIMULATOR_START_S", 0.01)
    with pytest.raises(Exception, match=r"the simulator did not start in 0 s: see .*simulate\.log"):
        await demo.run_demo("link-down@1s", tmp_path / "demo")
    assert started == ["start", "stop"]


async def test_a_demo_beside_another_rewrites_the_settings_of_its_simulator(tmp_path: Path, monkeypatch):
    class Simulator:
        def __init__(self, name: str, arguments: list[str], log_path: Path) -> None:
            self.log_path = log_path
            self._config = Path(arguments[arguments.index("--config-out") + 1])

        async def start(self) -> None:
            self._config.write_text(yaml.safe_dump({"global": {"cluster": "simulated"}, "api": {"port": 9099}}))

        async def refusal(self) -> str:
            return await asyncio.Future()

    ran: list[int] = []

    async def run_all_in_one(config_file: Path, running: list[Simulator], **_: object) -> None:
        ran.append(load_settings(config_file).api.port)
        assert len(running) == 1

    monkeypatch.setattr(demo, "Child", Simulator)
    monkeypatch.setattr(demo, "run_all_in_one", run_all_in_one)
    await demo.run_demo("link-down@1s", tmp_path / "one")
    await demo.run_demo("link-down@1s", tmp_path / "two", port=9100)
    assert ran == [9099, 9100]
