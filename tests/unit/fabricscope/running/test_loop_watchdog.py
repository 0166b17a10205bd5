"""A stage's process whose event loop is blocked."""

import subprocess
import sys
from pathlib import Path

from tests.waiting import DEADLINE_S

BLOCKED = """
import asyncio, sys, time
from pathlib import Path
from prometheus_client import generate_latest
from fabricscope.running import process
from fabricscope.logs import LogFormat, LogLevel, configure_logs
from fabricscope.settings import Settings
from fabricscope.stages import Stage

def waits_for_a_slow_disk(file):
    while not file.exists():
        time.sleep(0.01)

class Blocking:
    async def start(self):
        pass

    async def wait(self):
        await asyncio.sleep(0)
        waits_for_a_slow_disk(Path(sys.argv[1]))
        while b"fabricscope_process_loop_blocks_total 1.0" not in generate_latest():
            await asyncio.sleep(0.01)

    async def stop(self):
        pass

configure_logs(LogLevel.INFO, LogFormat.LOGFMT)
process.build = lambda stage, settings, bus, reload: Blocking()
settings = Settings.model_validate(
    {"global": {"metrics_ports": {"ingest": 0}}, "bus": {"embedded": {"path": sys.argv[1] + ".sqlite"}}}
)
asyncio.run(process.run_stage(Stage.INGEST, settings, lambda: settings))
"""


def test_the_place_that_blocks_the_event_loop_is_logged_once_and_counted(tmp_path: Path) -> None:
    free = tmp_path / "free"
    command = [sys.executable, "-c", BLOCKED, str(free)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "event loop is blocked" in line:
                    free.touch()
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()
    blocked = [line for line in lines if "event loop is blocked" in line]
    assert len(blocked) == 1
    assert "waits_for_a_slow_disk" in blocked[0]
    assert "stage=ingest" in blocked[0]
    assert any("event loop runs again" in line for line in lines)
