"""docker-compose.secure.yml on top of docker-compose.yml, merged by the program of the project that defines them."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.compose.grant_rights import READS, WRITES
from fabricscope.settings import load_settings
from fabricscope.stages import Stage
from tests.servers.kafka import SHIPPED, shipped_settings
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]
FILES = ("docker-compose.yml", "docker-compose.secure.yml")
STAGES = [stage.value for stage in Stage]
USERNAME = "FABRICSCOPE__BUS__KAFKA__USERNAME"


def merged(*files: str) -> Any:
    program = ROOT / "build" / "bin" / "compose-spec"
    command: list[Path | str] = [program, "-format", "json", "-no-path-resolution", *files]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def project() -> Any:
    subprocess.run([ROOT / "tests" / "servers" / "compose_schema" / "install.sh"], check=True, timeout=DEADLINE_S)
    return merged(*FILES)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "secrets"
    subprocess.run([SHIPPED.parent / "make_secrets.sh", folder], check=True)
    return folder


def test_it_fits_the_schema() -> None:
    schema = json.loads((ROOT / "build" / "compose-spec.json").read_text())
    document = yaml.safe_load((ROOT / FILES[1]).read_text())
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)] == []


def test_both_files_alone_and_merged_are_accepted_by_compose(project: Any) -> None:
    assert project["services"].keys() - merged(FILES[0])["services"].keys() == {"rights"}


@pytest.mark.parametrize("name", STAGES)
def test_each_stage_has_its_own_user_and_no_other_password(project: Any, name: str) -> None:
    service = project["services"][name]
    # Merged, they are lines.
    environment = dict(line.split("=", 1) for line in service["environment"])
    assert environment.keys() == {USERNAME, "STATUS_PAGE"}
    assert environment[USERNAME] == name
    sources = {secret["source"]: secret["target"] for secret in service["secrets"]}
    assert sources == {"ca.pem": "/run/secrets/ca.pem", f"{name}.password": "kafka_password"}
    assert service["depends_on"]["rights"]["condition"] == "service_completed_successfully"
    assert service["depends_on"]["kafka"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", STAGES)
def test_the_rights_are_documented(name: str) -> None:
    reads, writes = (
        ", ".join(topic.name.split(".")[1] for topic in rights.get(name, ())) for rights in (READS, WRITES)
    )
    row = f"| `{name}` | {reads} | {writes} |".replace("|  |", "| |")
    assert row in (ROOT / "docs" / "compose.md").read_text().splitlines()


def test_nothing_else_is_given_a_secret(project: Any) -> None:
    holders = {name for name, service in project["services"].items() if service.get("secrets")}
    assert holders == {*STAGES, "kafka", "rights"}
    assert "ca.key" not in (ROOT / FILES[1]).read_text()


def test_the_container_that_grants_rights_is_as_confined_as_a_stage(project: Any) -> None:
    rights, stage = project["services"]["rights"], project["services"]["api"]
    for key in ("user", "read_only", "cap_drop", "security_opt", "tmpfs", "image"):
        assert rights[key] == stage[key], key
    assert rights["mem_limit"]
    assert rights["pids_limit"]


@pytest.mark.parametrize("name", STAGES)
def test_the_stages_settings_are_complete_and_encrypted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USERNAME, name)
    kafka = load_settings(SHIPPED.parent / "fabricscope.secure.yaml").bus.kafka
    assert (kafka.username, kafka.security, kafka.sasl_mechanism) == (name, "sasl_tls", "SCRAM-SHA-512")
    assert not kafka.insecure
    assert str(kafka.ca_file) == "/run/secrets/ca.pem"
    assert str(kafka.password_file) == "/run/secrets/kafka_password"


def test_the_secure_broker_differs_in_security_alone() -> None:
    plain, secure = shipped_settings("server.properties"), shipped_settings("secure.properties")
    different = {"listeners", "advertised.listeners", "listener.security.protocol.map"}
    assert {name: plain[name] for name in plain.keys() - different} == {
        name: secure[name] for name in plain.keys() - different
    }
    assert "PLAINTEXT" not in "".join(secure[name] for name in different)
    assert secure["authorizer.class.name"].endswith(".StandardAuthorizer")
    assert secure["allow.everyone.if.no.acl.found"] == "false"
    assert secure["super.users"] == "User:admin"


def test_the_script_makes_every_secret_that_is_mounted(project: Any, secrets: Path) -> None:
    mounted = {Path(secret["file"]) for secret in project["secrets"].values()}
    assert {file.parent for file in mounted} == {Path("deploy/compose/secrets")}
    assert {file.name for file in mounted} | {"ca.key"} == {file.name for file in secrets.iterdir()}
    users = {file.stem for file in secrets.glob("*.password")}
    assert users == READS.keys() | WRITES.keys() | {"admin"}
    assert len({file.read_text() for file in secrets.glob("*.password")}) == len(users)


def test_secrets_are_readable_in_containers_and_by_nobody_else_on_the_host(secrets: Path) -> None:
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert stat.S_IMODE((secrets / "ca.key").stat().st_mode) == 0o600
    assert {stat.S_IMODE(file.stat().st_mode) for file in secrets.iterdir() if file.name != "ca.key"} == {0o444}


def test_secrets_that_are_there_stay_and_what_was_removed_is_made_again(secrets: Path) -> None:
    before = {file.name: file.read_bytes() for file in secrets.iterdir()}
    (secrets / "broker.pem").unlink()
    (secrets / "export.password").unlink()
    subprocess.run([SHIPPED.parent / "make_secrets.sh", secrets], check=True)
    after = {file.name: file.read_bytes() for file in secrets.iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"broker.pem", "export.password"}


def test_the_brokers_certificate_is_for_its_names_and_signed(secrets: Path) -> None:
    command = ["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem", "-verify_hostname", "kafka", "broker.pem"]
    checked = subprocess.run(command, cwd=secrets, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_secrets_stay_out_of_git_and_of_the_image() -> None:
    folder = os.fspath(SHIPPED.parent.relative_to(ROOT) / "secrets")
    assert f"/{folder}/" in (ROOT / ".gitignore").read_text().splitlines()
    assert folder in (ROOT / ".dockerignore").read_text().splitlines()
