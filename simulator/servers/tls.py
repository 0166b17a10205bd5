"""A self-signed TLS identity for the gNMI servers, made by the openssl command."""

import subprocess
from pathlib import Path

from common.errors import ConfigError

_DEADLINE_S = 30


def self_signed(directory: Path, addresses: list[str]) -> tuple[Path, Path]:
    """Key and certificate files in ``directory``, valid for all ``addresses``; ConfigError without openssl."""
    key, certificate = directory / "gnmi.key", directory / "gnmi.crt"
    names = ",".join(f"IP:{address}" for address in addresses)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "30", "-subj", "/CN=simulator", "-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    directory.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_DEADLINE_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(
            "simulator: gnmi_tls needs the openssl command, or gnmi_cert_file and gnmi_key_file"
        ) from error
    return key, certificate
