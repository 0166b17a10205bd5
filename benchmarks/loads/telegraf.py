"""Telegraf with one input, beside which ours are measured: what people use for the same today.

Needs ``build/bin/telegraf``, which ``make bench`` builds.
"""

import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAM = Path(__file__).parents[2] / "build" / "bin" / "telegraf"
BATCH = 10_000
"""Metrics that it writes at once, so that it waits for nothing."""
_DISCARD = "[[outputs.discard]]"
_FILE = '[[outputs.file]]\nfiles = ["{file}"]\ndata_format = "influx"'
_START_S = 120.0
_WROTE = re.compile(rb"D! \[outputs\.\w+\] Wrote batch of (\d+) metrics ")
# Debug is for the line of each write, which says how many metrics the output took.
_CONFIG = """
[agent]
omit_hostname = true
debug = true
flush_interval = "1s"
metric_batch_size = {batch}
metric_buffer_limit = {limit}
skip_processors_after_aggregators = true
{input}
{output}
"""


class Telegraf:
    """Runs inside ``with``. name: of its files in the folder. input, output: as TOML.

    port: of 127.0.0.1, on which its input listens then; 0 for one that does not listen.
    """

    def __init__(self, folder: Path, name: str, input: str, output: str = _DISCARD, port: int = 0) -> None:
        if not PROGRAM.exists():
            raise SystemExit(f"{PROGRAM} is missing: make bench builds it, or bash benchmarks/peers/telegraf/build.sh")
        self._config, self._log, self._port = folder / f"{name}.conf", folder / f"{name}.log", port
        self._config.write_text(_CONFIG.format(batch=BATCH, limit=20 * BATCH, input=input, output=output))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """While it runs."""
        assert self._process is not None, "start it first"
        return self._process.pid

    def written(self) -> int:
        """Metrics that its output has taken so far. RuntimeError when it has lost some."""
        log = self._log.read_bytes()
        if b" E! " in log or b"metrics have been dropped" in log:
            raise RuntimeError(f"Telegraf did not read all of it:\n{log.decode()[-2000:]}")
        return sum(map(int, _WROTE.findall(log)))

    def __enter__(self) -> Self:
        with self._log.open("wb") as out:
            self._process = subprocess.Popen([PROGRAM, "--config", self._config], stdout=out, stderr=out)
        if self._port:
            self._wait_listening()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        assert self._process is not None, "it was entered"
        self._process.kill()
        self._process.wait()
        if error is None:
            self.written()

    def _wait_listening(self) -> None:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"Telegraf does not listen:\n{self._log.read_text()[-2000:]}")


def lines_of(folder: Path, input: str, port: int, send: Callable[[], None], metrics: int) -> list[str]:
    """What it makes of what is sent, so many metrics, each as a line of influx."""
    file = folder / "read"
    with Telegraf(folder, "check", input, _FILE.format(file=file), port) as telegraf:
        send()
        deadline = time.monotonic() + _START_S
        while telegraf.written() < metrics and time.monotonic() < deadline:
            time.sleep(0.1)
    return file.read_text().splitlines()
