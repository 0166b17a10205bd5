"""gNMI peers that nobody here wrote: the openconfig project's fake device and client, built by ``gnmi/install.sh``."""

import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from google.protobuf import text_format

from telemetry.gnmi import gnmi_pb2
from tests.servers.certificates import Certificates
from tests.waiting import DEADLINE_S

_ROOT = Path(__file__).resolve().parents[2]
_INSTALL = Path(__file__).parent / "gnmi" / "install.sh"
_BIN = _ROOT / "build" / "bin"


@dataclass(frozen=True)
class FakeDevice:
    """openconfig's fake_server: it plays a list of responses to each subscriber, over TLS."""

    address: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE_S)


DeviceStarter = Callable[..., FakeDevice]


@pytest.fixture(scope="session")
def openconfig_programs() -> Path:
    """The folder with fake_server and gnmi_cli."""
    subprocess.run([str(_INSTALL)], check=True, timeout=DEADLINE_S)
    return _BIN


@pytest.fixture
def fake_device(openconfig_programs: Path, certificates: Certificates) -> Iterator[DeviceStarter]:
    """Starts fake devices; they stop with the test."""
    with ExitStack() as stack:

        def start(
            responses: Sequence[gnmi_pb2.SubscribeResponse] = (), config: str = "", *, client_certificate: bool = False
        ) -> FakeDevice:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            device = start_fake_device(
                openconfig_programs, certificates, folder, responses, config, client_certificate=client_certificate
            )
            stack.callback(device.stop)
            return device

        yield start


def start_fake_device(
    programs: Path,
    certificates: Certificates,
    folder: Path,
    responses: Sequence[gnmi_pb2.SubscribeResponse],
    config: str,
    *,
    client_certificate: bool,
) -> FakeDevice:
    """config: more of fake.proto's Config as text. The stream stays open at the end."""
    fixed = "".join(f"responses {{ {text_format.MessageToString(r, as_one_line=True)} }}\n" for r in responses)
    text = 'target: "fake" client_type: GRPC_GNMI disable_eof: true\n' + config
    (folder / "config.pb.txt").write_text(text + (f"fixed {{ {fixed} }}" if responses else ""))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(programs / "fake_server"), "-text", "-config", str(folder / "config.pb.txt"), "-port", str(port)]
    command += ["-server_crt", str(certificates.certificate("server")), "-server_key", str(certificates.key("server"))]
    command += ["-ca_crt", str(certificates.authority)]
    command += [] if client_certificate else ["-allow_no_client_auth"]
    process = subprocess.Popen(command, stderr=(folder / "log").open("wb"))
    return FakeDevice(f"127.0.0.1:{port}", process)
