"""A process whose stages do not end their stop."""

import signal
import subprocess
import sys

from tests.waiting import DEADLINE_S

HANGS = """
import asyncio
from fabricscope.running.stopping import stop_on_signals

async def main():
    stopping = stop_on_signals()
    print("runs", flush=True)
    await stopping.wait()
    print("stops", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_second_signal_ends_a_process_that_does_not_stop() -> None:
    with subprocess.Popen([sys.executable, "-c", HANGS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "runs\n"
            process.send_signal(signal.SIGTERM)
            assert process.stdout.readline() == "stops\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE_S) == 1
        finally:
            process.kill()
