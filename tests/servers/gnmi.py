"""gNMI peers that nobody here wrote: the openconfig project's fake device and client, built by ``gnmi/install.sh``."""

import datetime
import ipaddress
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.protobuf import text_format

from telemetry.gnmi import gnmi_pb2

_ROOT = Path(__file__).resolve().parents[2]
_INSTALL = Path(__file__).parent / "gnmi" / "install.sh"
_BIN = _ROOT / "build" / "bin"


@dataclass(frozen=True)
class Certificates:
    """Files of one authority, a server named ``switch.example`` and a client, all in PEM."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    def certificate(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"


@dataclass(frozen=True)
class FakeDevice:
    """openconfig's fake_server: it plays a list of responses to each subscriber, over TLS."""

    address: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


DeviceStarter = Callable[..., FakeDevice]


@pytest.fixture(scope="session")
def openconfig_programs() -> Path:
    """The folder with fake_server and gnmi_cli."""
    subprocess.run([str(_INSTALL)], check=True, timeout=280)
    return _BIN


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("Test authority")
    authority = _certificate(name, name, key.public_key(), is_authority=True).sign(key, hashes.SHA256())
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for who in ("server", "client"):
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(_name(who), name, own.public_key(), is_authority=False).sign(key, hashes.SHA256())
        made.certificate(who).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        made.key(who).write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return made


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


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("switch.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
