"""The one TLS configuration, and the context that is made of it."""

import os
import ssl
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from common.errors import ConfigError
from common.tls import TlsConfig, client_context
from tests.servers.certificates import Certificates


def own(certificates: Certificates) -> dict[str, Path]:
    return {"cert_file": certificates.certificate("client"), "key_file": certificates.key("client")}


def test_the_default_verifies_the_peer_and_its_name():
    context = client_context(TlsConfig())
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_flags == ssl.VERIFY_X509_TRUSTED_FIRST, "on every Python"


def test_an_authority_replaces_the_systems(certificates):
    (trusted,) = client_context(TlsConfig(ca_file=certificates.authority)).get_ca_certs()
    assert trusted["subject"] == ((("commonName", "Test authority"),),)


def test_any_certificate_is_accepted_when_asked_for():
    context = client_context(TlsConfig(insecure_skip_verify=True))
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_certificate_that_is_no_authority_can_be_trusted():
    assert client_context(TlsConfig(), partial_chain=True).verify_flags & ssl.VERIFY_X509_PARTIAL_CHAIN


def test_a_context_is_built_once_and_again_when_a_file_has_changed(certificates, tmp_path):
    file = tmp_path / "authority.pem"
    file.write_bytes(certificates.authority.read_bytes())
    config = TlsConfig(ca_file=file)
    first = client_context(config)
    assert client_context(config.model_copy(update={"server_name": "leaf1"})) is first
    assert client_context(config, alpn=("h2",)) is not first
    os.utime(file, ns=(0, 7))
    assert client_context(config) is not first


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"ca_file": "none.pem"}, "^ca_file .*none.pem: No such file or directory$"),
        ({"ca_file": "bad.pem"}, "^ca_file [^ ]*bad.pem: [^,]+$"),
        ({"cert_file": "bad.pem", "key_file": "bad.pem"}, "^cert_file .*bad.pem, key_file .*bad.pem: "),
        ({"cert_file": "bad.pem", "key_file": "none.pem"}, "^key_file .*none.pem: No such file or directory$"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_never_quoted(tmp_path, files, message):
    (tmp_path / "bad.pem").write_text("canary-4711")
    with pytest.raises(ConfigError, match=message) as error:
        client_context(TlsConfig(**{key: tmp_path / name for key, name in files.items()}))
    assert "canary" not in str(error.value)


def test_a_key_of_another_certificate_is_refused(certificates):
    config = TlsConfig(cert_file=certificates.certificate("client"), key_file=certificates.key("server"))
    with pytest.raises(ConfigError, match=r"cert_file .*client\.pem, key_file .*server\.key: "):
        client_context(config)
    client_context(TlsConfig(**own(certificates)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cert_file": "c"}, "cert_file and key_file belong together: expected both or none"),
        ({"key_file": "k"}, "cert_file and key_file belong together: expected both or none"),
        ({"insecure": True}, "Extra inputs"),
        ({"insecure_skip_verify": "perhaps"}, "valid boolean"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        TlsConfig.model_validate(settings)
