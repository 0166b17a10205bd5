"""Fixture: certificates of an authority of our own."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    """Files of one authority, a server (``switch.example``, 127.0.0.1), a client, and a server whose certificate has
    ``expired``, all in PEM."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    def certificate(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.key"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def make_certificates(folder: Path) -> Certificates:
    """Of a new authority."""
    made = Certificates(folder)
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("Test authority")
    authority = _certificate(name, name, key.public_key(), is_authority=True).sign(key, hashes.SHA256())
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for who, ends_days in (("server", 1.0), ("client", 1.0), ("expired", -0.5)):
        own = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate(_name(who), name, own.public_key(), is_authority=False, ends_days=ends_days).sign(
            key, hashes.SHA256()
        )
        made.certificate(who).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        made.key(who).write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
    return made


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    is_authority: bool,
    ends_days: float = 1.0,
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
        .not_valid_after(now + datetime.timedelta(days=ends_days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
