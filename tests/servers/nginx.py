"""Fixture: a real nginx with the ``server`` blocks that a test gives it."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_S

_FRAME = """
daemon off; pid nginx.pid; error_log stderr; worker_processes 1;{user}
events {{}}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  {servers}
}}
"""

NginxStarter = Callable[[str, int], None]


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[NginxStarter]:
    """Starts one with these ``server`` blocks, and returns once it listens on the port; it stops with the test."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        raise RuntimeError("no nginx: apt-get install nginx-light")
    with ExitStack() as stack:

        def start(servers: str, port: int) -> None:
            folder = tmp_path / "nginx"
            folder.mkdir()
            config, log = folder / "nginx.conf", folder / "log"
            user = " user root;" if os.getuid() == 0 else ""  # its workers could not reach the folder otherwise
            config.write_text(_FRAME.format(servers=servers, user=user))
            with log.open("wb") as output:
                process = subprocess.Popen([program, "-p", folder, "-c", config, "-e", "stderr"], stderr=output)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            deadline = time.monotonic() + DEADLINE_S
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                except OSError:
                    time.sleep(0.02)
                else:
                    return
            raise RuntimeError(f"nginx does not listen:\n{log.read_text()[-2000:]}")

        yield start
