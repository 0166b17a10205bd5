"""Children of ``fabricscope run``, as real processes: the API, which needs nothing but its bus file."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from bus.owner.ownership import Ownership
from bus.owner.role import Role
from fabricscope.running.stopping import SUPERVISED
from fabricscope.running.supervisor import Child, restart_wait_s
from tests.waiting import DEADLINE_S

PARENT = """
import asyncio, sys
from pathlib import Path
from fabricscope.running.supervisor import Child, restart_wait_s

async def main():
    await Child("api", sys.argv[2:], Path(sys.argv[1])).start()
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    settings = tmp_path / "fabricscope.yaml"
    settings.write_text(f"global: {{data_dir: {tmp_path / 'data'}}}\napi: {{port: 0}}\n")
    return ["api", "--config", str(settings)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "api.log"


async def until(done: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not done():  # noqa: ASYNC110  # other processes do it
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"waited {DEADLINE_S} s: {what}") from None


def count_in(log: Path, words: str) -> int:
    return log.read_text().count(words) if log.exists() else 0


def runs(pid: int) -> bool:
    """A zombie does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start_parent(log: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    environment = {key: value for key, value in os.environ.items() if key != SUPERVISED}
    return subprocess.Popen([sys.executable, "-c", PARENT, str(log), *arguments], env=environment)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("failures", "chance", "wait_s"), [(1, 0, 0.5), (1, 1, 0.25), (2, 0, 1.0), (4, 0, 4.0), (7, 0, 30.0), (99, 1, 15.0)]
)
def test_a_child_that_keeps_dying_is_started_less_and_less_often(failures, chance, wait_s):
    assert restart_wait_s(failures, chance) == wait_s


async def test_a_child_that_dies_is_started_again_until_it_is_stopped(arguments, log):
    child = Child("api", arguments, log)
    await child.stop()  # before it was started: nothing happens
    await child.start()
    try:
        await until(lambda: count_in(log, "stage runs") == 1, "the child to run")
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: count_in(log, "stage runs") == 2, "it to run again")
        second = child.pid
        assert second is not None
        assert second != first
        assert child.restarts == 1
    finally:
        await child.stop()
    assert child.pid is None
    assert not runs(second)
    assert count_in(log, "stage stopped") == 1, "SIGTERM let it stop in order"
    await child.stop()


async def test_a_child_that_was_replaced_by_a_newer_process_is_left_ended(tmp_path, log):
    settings = tmp_path / "fabricscope.yaml"
    settings.write_text(f"global: {{data_dir: {tmp_path / 'data'}, metrics_ports: {{analytics: 0}}}}\n")
    child = Child("analytics", ["analytics", "--config", str(settings)], log)
    bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "data" / "bus.sqlite"))
    await bus.start()
    newer = Ownership(bus, Role("analytics"))
    await child.start()
    try:
        await until(lambda: count_in(log, "analytics owns its outputs") == 1, "the child to own its outputs")
        await newer.claim()
        await until(lambda: count_in(log, "fabricscope: analytics: replaced by process") == 1, "the child to say so")
        await until(lambda: child.ended, "its supervisor to leave it")
    finally:
        await child.stop()
        await newer.stop()
        await bus.stop()
    assert (child.restarts, child.pid) == (0, None)


async def test_children_end_when_their_parent_is_killed(arguments, log):
    parent = start_parent(log, arguments)
    try:
        await until(lambda: count_in(log, "stage runs"), "the child to run")
        (child,) = children_of(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    await until(lambda: not runs(child), "the orphan to end")
    assert count_in(log, "stage stopped") == 1


async def test_what_cannot_start_is_not_tried_again_and_says_why(log, tmp_path):
    listener = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    settings = tmp_path / "fabricscope.yaml"
    settings.write_text(f"global: {{data_dir: {tmp_path / 'data'}}}\napi: {{port: {port}}}\n")
    child = Child("api", ["api", "--config", str(settings)], log)
    await child.start()
    try:
        refusal = await asyncio.wait_for(child.refusal(), DEADLINE_S)
        assert refusal.startswith("api: api.host, api.port: ")
        assert refusal.endswith("address already in use")
        await until(lambda: child.ended, "the child to end")
        assert child.restarts == 0
    finally:
        await child.stop()
        listener.close()
