"""A real Kafka broker (KRaft) in a child process; also used outside pytest by the benchmarks and checks.

The jars come from ``kafka/install.sh``, the settings from ``deploy/compose/kafka``. Fixtures: ``kafka`` is shared by
the session; ``own_kafka`` belongs to one test, and ``kafka_cluster`` to one module, which may kill them.
"""

import os
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from tests.waiting import DEADLINE_S

VERSION = "4.1.1"
OLD_VERSION = "3.9.2"
_ROOT = Path(__file__).resolve().parents[2]
INSTALL = Path(__file__).parent / "kafka" / "install.sh"
SHIPPED = _ROOT / "deploy" / "compose" / "kafka"
JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_STORE_PASSWORD = "broker-store"
_LOGIN = "org.apache.kafka.common.security"
_SCRAM = "SCRAM-SHA-512"
# What lets a test wait for seconds instead of minutes; the rest is as shipped.
TEST_TIMES = {
    "broker.session.timeout.ms": "1000",  # a broker that was killed is let in again only after its old session
    "broker.heartbeat.interval.ms": "200",
    # A broker that asks a controller which stands still for ids of producers asks the next one only after this.
    "controller.socket.timeout.ms": "2000",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
}


def shipped_settings(name: str) -> dict[str, str]:
    """Settings by name, of a ``.properties`` file that docker-compose mounts."""
    lines = (SHIPPED / name).read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


class KafkaServer:
    """One broker on loopback; its data outlive ``kill`` and ``restart``, and go with ``folder``.

    start() blocks until the broker answers; stop() is idempotent.
    users: names and passwords; with them the broker wants TLS (``ca_file`` signs it) and SASL, PLAIN or SCRAM-SHA-512.
    node: its id in the cluster, and voters: the controllers of the cluster, itself alone unless they are set.
    """

    def __init__(
        self, folder: Path | str, *, version: str = VERSION, users: Mapping[str, str] | None = None, node: int = 1
    ) -> None:
        self.folder, self.version, self.node = Path(folder).resolve(), version, node
        self.port, self._controller_port = _free_ports(2)
        self.voters = [self.voter]
        self.users = dict(users or {})
        self._tls = bool(self.users)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def voter(self) -> str:
        return f"{self.node}@127.0.0.1:{self._controller_port}"

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def libs(self) -> Path:
        """The class path of the broker."""
        return _ROOT / "build" / f"kafka-{self.version}" / "libs" / "*"

    def start(self) -> None:
        subprocess.run([INSTALL, self.version], check=True)
        settings = self.folder / "server.properties"
        if not settings.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.users:
                self._make_certificate()
            settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
            cluster = ("-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(settings))
            scram = (f"{_SCRAM}=[name={name},password={password}]" for name, password in self.users.items())
            users = [argument for user in scram for argument in ("--add-scram", user)]
            self._java("kafka.tools.StorageTool", "format", *cluster, *users).wait()
        self._process = self._java("kafka.Kafka", str(settings))
        self._wait_until_it_answers()

    def kill(self) -> None:
        """kill -9."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """kill -9 and start again, with the same address and data."""
        self.kill()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and nothing answers. Returns when the last thread has stopped."""
        self._signal(signal.SIGSTOP)
        assert self._process is not None, "start it first"
        threads = Path(f"/proc/{self._process.pid}/task")
        while any(_state(thread) not in "TXZ" for thread in threads.iterdir()):
            time.sleep(0.01)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        self.kill()  # nothing in a test's broker is worth a slow shutdown

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)

    def _java(self, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.folder / "broker.log").open("ab") as log:
            return subprocess.Popen([*JAVA, "-cp", str(self.libs), *arguments], stdout=log, stderr=log, cwd=self.folder)

    def _make_certificate(self) -> None:
        store = ("-keystore", "broker.p12", "-storepass", _STORE_PASSWORD, "-alias", "broker")
        names = ("-dname", "CN=broker", "-ext", "SAN=IP:127.0.0.1", "-ext", "BC=ca:true")
        _run("keytool", "-genkeypair", *store, *names, "-keyalg", "RSA", "-validity", "30", cwd=self.folder)
        _run("keytool", "-exportcert", "-rfc", *store, "-file", str(self.ca_file), cwd=self.folder)

    def _security(self) -> dict[str, str]:
        if not self.users:
            return {}
        users = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        name, password = next(iter(self.users.items()))
        login = f'username="{name}" password="{password}" {users};'
        return {
            "inter.broker.listener.name": "SASL_SSL",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": f"PLAIN,{_SCRAM}",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_LOGIN}.plain.PlainLoginModule required {login}",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{_LOGIN}.scram.ScramLoginModule required;",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.folder / "broker.p12"),
            "ssl.keystore.password": _STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
        }

    def _settings(self) -> dict[str, str]:
        listener = "SASL_SSL" if self.users else "PLAINTEXT"
        return {
            **shipped_settings("server.properties"),
            **self._places(listener),
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{listener}:{listener}",
            **TEST_TIMES,
            **self._security(),
        }

    def _places(self, listener: str) -> dict[str, str]:
        """The settings with addresses and folders, for this machine."""
        return {
            "node.id": str(self.node),
            "controller.quorum.voters": ",".join(self.voters),
            "listeners": f"{listener}://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}",
            "advertised.listeners": f"{listener}://127.0.0.1:{self.port}",
            "log.dirs": str(self.folder / "data"),
        }

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not _answers(self.port, tls=self._tls):
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "broker.log").read_text(errors="replace")
                self.kill()
                raise RuntimeError(f"Kafka {self.version} did not start:\n{log[-4000:]}")
            time.sleep(0.05)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _state(thread: Path) -> str:
    """As in proc(5); X for one that has ended meanwhile."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "X"


def _answers(port: int, *, tls: bool) -> bool:
    """Whether an ApiVersions request gets a response: an open port alone is not yet a broker."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as plain:
            connection = context.wrap_socket(plain) if tls else plain
            request = struct.pack(">hhih", 18, 0, 1, -1)  # ApiVersions, version 0, correlation 1, no client id
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(8)) > 0
    except OSError:
        return False


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    yield from _running(VERSION)


@pytest.fixture(scope="session")
def old_kafka() -> Iterator[KafkaServer]:
    yield from _running(OLD_VERSION)


@pytest.fixture
def own_kafka() -> Iterator[KafkaServer]:
    yield from _running(VERSION)


@pytest.fixture(scope="module")
def kafka_cluster() -> Iterator[list[KafkaServer]]:
    """Three brokers, so that one may be away; who kills one starts it again."""
    with tempfile.TemporaryDirectory(prefix=f"kafka-{uuid4().hex[:6]}-") as folder:
        brokers = [KafkaServer(Path(folder) / str(node), node=node) for node in (1, 2, 3)]
        for broker in brokers:
            broker.voters = [each.voter for each in brokers]
        try:
            with ThreadPoolExecutor(len(brokers)) as starting:  # none answers before most are there
                list(starting.map(KafkaServer.start, brokers))
            yield brokers
        finally:
            for broker in brokers:
                broker.thaw()
                broker.stop()


def _running(version: str) -> Iterator[KafkaServer]:
    with tempfile.TemporaryDirectory(prefix=f"kafka-{uuid4().hex[:6]}-") as folder:
        server = KafkaServer(folder, version=version)
        server.start()
        yield server
        server.thaw()
        server.stop()
