"""``fabricscope token`` and the audit log of commands, as people type them beside an API that runs."""

import json
import re
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricscope.api.access import tokens
from fabricscope.arguments import token
from tests.servers.process import free_port, wait_ready
from tests.waiting import DEADLINE_S

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fabricscope(tmp_path: Path) -> Run:
    """A command with the settings of a data folder of its own."""
    settings = tmp_path / "fabricscope.yaml"
    settings.write_text(f"global: {{data_dir: {tmp_path}}}\napi: {{port: {free_port()}}}\n")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fabricscope", *map(str, arguments), "--config", str(settings)]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    return run


@pytest.fixture
def url(fabricscope: Run, tmp_path: Path) -> Iterator[str]:
    """An API with the same settings."""
    settings, log = tmp_path / "fabricscope.yaml", tmp_path / "api.log"
    port = re.findall(r"port: (\d+)", settings.read_text())[0]
    with log.open("wb") as output:
        command = [sys.executable, "-m", "fabricscope", "api", "--config", str(settings)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    wait_ready(f"http://127.0.0.1:{port}/-/ready", process, log)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(DEADLINE_S)


def announce(url: str, secret: str) -> int:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = b'{"kind": "drain", "objects": ["device:node1"]}'
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}/api/v1/changes", body, headers), timeout=DEADLINE_S
        ) as got:
            return int(got.status)
    except urllib.error.HTTPError as error:
        return error.code


def audited(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "api" / "audit.jsonl").read_text().splitlines()
    return [(one["action"], one["result"]) for one in map(json.loads, lines)]


def test_a_token_is_created_used_rotated_and_revoked_while_the_api_runs(fabricscope, url, tmp_path):
    first = fabricscope("token", "create", "robot", "--scope", "ack").stdout.strip()
    assert announce(url, first) == 201
    second = fabricscope("token", "create", "robot", "--scope", "ack", "--lasts", "1d").stdout.strip()
    assert announce(url, second) == 201
    third = fabricscope("token", "create", "robot")
    assert (third.returncode, "are active, expected one at most" in third.stderr) == (1, True)
    listed = fabricscope("token", "list").stdout
    ids = re.findall(r"(?m)^([0-9a-f]{8})  robot +ack +2", listed)
    assert len(ids) == 2
    assert not [secret for secret in (first, second) if secret in listed]
    assert fabricscope("token", "revoke", ids[0]).stdout == f"revoked robot ({ids[0]})\n"
    assert [announce(url, secret) for secret in (first, second)] == [401, 201]
    assert [line for line in audited(tmp_path) if line[0].startswith("token")] == [
        ("token create", "done"),
        ("token create", "done"),
        ("token create", "failed"),
        ("token revoke", "done"),
    ]
    assert first not in (tmp_path / "api" / "audit.jsonl").read_text()


def test_the_first_start_makes_the_token_of_this_machine_for_its_owner_alone(url, tmp_path):
    file = tmp_path / "api" / "local.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert announce(url, "") == 401
    assert announce(url, file.read_text().strip()) == 201
    assert file.read_text().strip() not in (tmp_path / "api.log").read_text()
    assert str(file) in (tmp_path / "api.log").read_text()


def test_a_change_of_the_command_line_is_in_the_same_log(fabricscope, url, tmp_path):
    assert fabricscope("change", "add", "drain", "device:node1", "--lasts", "2h").returncode == 0
    refused = fabricscope("change", "add", "drain", "device:node1", "--lasts", "31d")
    assert (refused.returncode, "expected at most 30d" in refused.stderr) == (2, True)
    late = fabricscope("change", "add", "drain", "device:node1", "--starts", "2199-01-01T00:00:00Z")
    assert (late.returncode, "366 days ahead" in " ".join(late.stderr.replace("│", " ").split())) == (2, True)
    (line,) = [json.loads(line) for line in (tmp_path / "api" / "audit.jsonl").read_text().splitlines()]
    assert (line["who"], line["address"], line["action"], line["result"]) == (
        "local",
        "command line",
        "change add",
        "done",
    )
    assert line["change"].startswith("drain of device:node1 from 2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "a b"), "name 'a b': expected letters"),
        (("create", "local"), "name local: expected another one"),
        (("create", "ci", "--scope", "root"), "'root' is not one of 'read', 'ack', 'replay', 'admin'"),
        (("create", "ci", "--lasts", "10y"), "lasts: expected at most 366d"),
    ],
)
def test_what_is_wrong_is_named(fabricscope, arguments, message):
    answer = fabricscope("token", *arguments)
    assert answer.returncode == 2
    assert message in " ".join(answer.stderr.replace("│", " ").split())


def test_a_token_that_is_not_there_cannot_be_revoked(fabricscope):
    answer = fabricscope("token", "revoke", "nobody")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "no token nobody: expected an id or a name" in answer.stderr


def test_without_tokens_a_list_is_empty_and_makes_no_files(fabricscope, tmp_path):
    assert fabricscope("token", "list").stdout == "ID  NAME  SCOPES  CREATED  EXPIRES\n"
    assert not (tmp_path / "api").exists()


def test_the_command_knows_all_scopes():
    assert [one.value for one in token.Scope] == [one.value for one in tokens.Scope]
