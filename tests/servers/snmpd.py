"""Fixtures: a real SNMP agent (Debian's snmpd), with the machine's own interfaces or with a file of objects."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

COMMUNITY = "fabric-ro"
_OBJECTS = Path(__file__).parent / "snmp" / "objects.py"
_SERVED = (  # subtrees that the file answers for
    "1.3.6.1.2.1.2",
    "1.3.6.1.2.1.15",
    "1.3.6.1.2.1.31",
    "1.3.6.1.2.1.47",
    "1.3.6.1.2.1.99",
    "1.3.6.1.4.1",
)
_OWN = "interface,ifTable,ifXTable,interfaces,ifMIB,entityMIB"  # snmpd's own modules of these subtrees
_UPTIME_OID = bytes.fromhex("06082b06010201010300")  # sysUpTime.0
Objects = Mapping[str, tuple[str, object]]
"""By OID: a type as snmpd.conf(5) has it (integer, gauge, counter, counter64, string, octet), and the value."""


class Snmpd:
    """One agent on the loopback, IPv4 and IPv6. It may be stopped and started again; the time of its start is then new.

    users: SNMPv3 users, as the arguments of ``createUser``. objects: whether the file answers; else the machine does.
    """

    def __init__(self, folder: Path, *, objects: bool = True, users: tuple[str, ...] = ()) -> None:
        self._folder, self._port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._file, self._log = folder / "objects.txt", folder / "snmpd.log"
        self.serve({})
        lines = [
            f"agentAddress udp:127.0.0.1:{self._port},udp6:[::1]:{self._port}",
            f"rocommunity {COMMUNITY} 127.0.0.1",
            f"rocommunity6 {COMMUNITY} ::1",
        ]
        lines += [f"createUser {user}\nrouser {user.split()[0]} priv" for user in users]
        self._options = ["-I", f"-smux,{_OWN}" if objects else "-smux"]
        if objects:
            lines += [f"pass_persist .{oid} {sys.executable} -I -S {_OBJECTS} {self._file}" for oid in _SERVED]
        (folder / "snmpd.conf").write_text("\n".join(lines) + "\n")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def serve(self, objects: Objects) -> None:
        """From the next request on."""
        text = "".join(f".{oid} {kind} {value}\n" for oid, (kind, value) in objects.items())
        self._file.with_suffix(".new").write_text(text)
        self._file.with_suffix(".new").rename(self._file)

    def start(self) -> None:
        """Returns when it answers."""
        program = shutil.which("snmpd") or shutil.which("snmpd", path="/usr/sbin:/usr/local/sbin")
        if program is None:
            pytest.fail("snmpd is missing: install the Debian package snmpd")
        command = [program, "-f", "-Lo", "-C", "-c", str(self._folder / "snmpd.conf"), *self._options]
        environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(self._folder / "persistent"), "MIBS": ""}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self._wait_until_it_answers(self._process)

    def stop(self) -> None:
        """Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait_until_it_answers(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + DEADLINE_S
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("127.0.0.1", self._port))
            probe.settimeout(0.1)
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    probe.send(_get(_UPTIME_OID))
                    probe.recv(2048)
                except OSError:
                    time.sleep(0.02)
                else:
                    return
        pytest.fail(f"snmpd does not answer:\n{self._log.read_text()[-2000:]}")


def _get(oid: bytes) -> bytes:
    """A GetRequest of SNMPv2c."""
    varbinds = _sequence(0x30, _sequence(0x30, oid + b"\x05\x00"))
    pdu = _sequence(0xA0, b"\x02\x01\x01\x02\x01\x00\x02\x01\x00" + varbinds)
    return _sequence(0x30, b"\x02\x01\x01" + _sequence(0x04, COMMUNITY.encode()) + pdu)


def _sequence(tag: int, content: bytes) -> bytes:
    return bytes((tag, len(content))) + content


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Snmpd]:
    """An agent whose objects a test serves."""
    with ExitStack() as stack:
        made = Snmpd(tmp_path)
        stack.callback(made.stop)
        made.start()
        yield made


@pytest.fixture
def machine_agent(tmp_path: Path) -> Iterator[Snmpd]:
    """An agent that speaks for this machine."""
    with ExitStack() as stack:
        made = Snmpd(tmp_path, objects=False)
        stack.callback(made.stop)
        made.start()
        yield made
