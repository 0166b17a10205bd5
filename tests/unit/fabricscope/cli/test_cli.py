"""The command line as people type it."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from dashboards.boards import ALL
from fabricscope.arguments import simulate, stage
from fabricscope.cli import app
from fabricscope.settings import load_settings
from fabricscope.stages import Stage
from simulator.faults import FAULTS
from tests.waiting import DEADLINE_S


def fabricscope(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricscope", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, cwd=folder)


def parameters() -> Iterator[tuple[str, list[str], str]]:
    """Each option of each command: command, its spellings, its help."""
    groups = [("", get_command(app))]
    while groups:
        path, command = groups.pop()
        groups += [(f"{path} {name}".strip(), inner) for name, inner in getattr(command, "commands", {}).items()]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield path, [*parameter.opts, *parameter.secondary_opts], getattr(parameter, "help", None) or ""


def test_version():
    assert fabricscope("version").stdout.startswith("fabricscope 0.")


def test_help_lists_every_command():
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    commands = (
        "run",
        "init",
        "completion",
        "incidents",
        "targets",
        "changes",
        "change",
        "deadletter",
        "token",
        "record",
        "replay",
        "simulate",
        "collect",
        "detect",
        "explain",
        "check",
        "config",
        "dashboards",
    )
    for command in (*Stage, *commands):
        assert re.search(rf"^│ {command} ", listed, re.MULTILINE), command


def test_all_options_are_of_one_style():
    found = list(parameters())
    assert len(found) > 30
    for command, spellings, _ in found:
        for spelling in spellings:
            assert re.fullmatch(r"--[a-z]+(-[a-z]+)*|-[a-z]", spelling), f"{command} {spelling}"


def test_every_option_of_ours_has_a_help():
    typers_own = {"--help", "--install-completion", "--show-completion"}
    assert [(command, names) for command, names, text in parameters() if not text and not typers_own & {*names}] == []


def test_every_command_and_argument_is_explained():
    groups, silent = [("", get_command(app))], []
    while groups:
        path, command = groups.pop()
        groups += [(f"{path} {name}".strip(), inner) for name, inner in getattr(command, "commands", {}).items()]
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        silent += [f"{path} {each.name}" for each in arguments if not getattr(each, "help", None)]
        silent += [path] * (not command.help)
    assert silent == []


def test_names_that_the_arguments_repeat_are_the_real_ones():
    assert set(stage.HELP) == {one.value for one in Stage}
    assert tuple(FAULTS) == simulate.FAULTS


def test_check_config_prints_a_summary(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("global: {cluster: pod7}\n")
    answer = fabricscope("check", "config", str(path))
    assert answer.returncode == 0
    assert "cluster pod7" in answer.stdout
    assert "no inventory: nothing is collected" in answer.stdout
    assert "links in pages: none: alerting.external_url is missing" in answer.stdout
    assert "links to boards: none: alerting.grafana_url is missing" in answer.stdout


def test_check_config_says_that_a_file_is_empty(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# nothing yet\n")
    answer = fabricscope("check", "config", str(path))
    assert (answer.returncode, answer.stdout.splitlines()[0]) == (
        0,
        f"{path}: valid, and empty: every setting has its default",
    )


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("devices: [{name: leaf1, role: leaf}]\n", 0, "inventory.yaml: 1 objects"),
        (None, 0, "inventory.yaml: cannot be read here: [Errno 2] No such file"),
        ("devices: [{name: leaf1, roll: leaf}]\n", 1, "inventory.yaml:1:11: devices.0.role: "),
    ],
)
def test_check_config_looks_into_the_inventory(tmp_path, text, status, said):
    path = tmp_path / "a.yaml"
    path.write_text(f"inventory: {{file: {tmp_path}/inventory.yaml}}\n")
    if text is not None:
        (tmp_path / "inventory.yaml").write_text(text)
    answer = fabricscope("check", "config", str(path))
    assert answer.returncode == status
    assert said in answer.stdout + answer.stderr
    assert ("valid" in answer.stdout) == (status == 0)


def test_check_config_names_files_that_are_not_here(tmp_path):
    path, there = tmp_path / "a.yaml", tmp_path / "password"
    there.write_text("secret")
    job = f"{{job_name: a, source: sonic, targets: [], tls: {{ca_file: {tmp_path}/ca.pem}}, password_file: {there}, "
    path.write_text(f"gnmi_configs: [{job}username_file: {tmp_path}}}]\n")
    answer = fabricscope("check", "config", str(path))
    said = [line for line in answer.stdout.splitlines() if "cannot be read" in line]
    assert (answer.returncode, len(said)) == (0, 2)
    place = f"  {path}:1:{path.read_text().index('ca_file') + 1}: gnmi_configs.0.tls.ca_file: "
    assert said[0] == f"{place}{tmp_path}/ca.pem cannot be read here: No such file or directory"
    assert said[1].endswith(f"gnmi_configs.0.username_file: {tmp_path} cannot be read here: Is a directory")


def test_check_config_shows_no_password(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("remote_write: [{url: 'https://carol:s3cret@prometheus.example/api/v1/write'}]\n")
    answer = fabricscope("check", "config", str(path))
    assert (answer.returncode, "s3cret" in answer.stdout + answer.stderr) == (0, False)
    assert "remote write: https://***@prometheus.example/api/v1/write" in answer.stdout


def test_an_error_shows_no_password_and_is_no_command(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text('bus: "http://carol:s3cret@kafka \\e[31m"\n')
    answer = fabricscope("check", "config", str(path))
    assert answer.returncode == 1
    assert "s3cret" not in answer.stderr
    assert "\x1b" not in answer.stderr


def test_a_traceback_of_ours_shows_no_password_and_is_no_command():
    program = """
from fabricscope import cli
def app(_):
    raise ValueError("\\x1b[31m http://carol:s3cret@host")
cli.app = app
cli.main()
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert answer.returncode == 1
    assert answer.stderr.endswith("ValueError: \\u001b[31m http://***@host\n")


@pytest.mark.parametrize("command", [("check", "config"), ("ingest", "--config"), ("ingest", "-c")])
def test_a_wrong_config_is_one_plain_line(tmp_path, command):
    path = tmp_path / "a.yaml"
    path.write_text("api:\n  prot: 1\n")
    answer = fabricscope(*command, str(path))
    assert answer.returncode == 1
    assert answer.stderr.strip() == f"fabricscope: {path}:2:3: api.prot: unknown key, did you mean port?"


@pytest.mark.parametrize("command", ["run", "api", "analytics", "ingest"])
def test_a_bus_that_can_have_no_file_is_one_plain_line_and_the_end(tmp_path, command):
    (tmp_path / "a.yaml").write_text("bus: {embedded: {path: /proc/nowhere/bus.sqlite}}\napi: {port: 0}\n")
    answer = fabricscope(command, "--config", "a.yaml", folder=tmp_path)
    assert answer.returncode == 1
    said = [line for line in answer.stderr.splitlines() if not line.startswith("timestamp=")]
    assert said == ["fabricscope: bus.embedded.path: /proc/nowhere/bus.sqlite: No such file or directory"]


def test_a_port_of_the_api_that_is_taken_is_one_plain_line_and_no_traceback(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "a.yaml").write_text(f"api: {{port: {port}}}\n")
        answer = fabricscope("api", "--config", "a.yaml", folder=tmp_path)
    assert answer.returncode == 1
    assert "Traceback" not in answer.stdout + answer.stderr
    assert answer.stderr.splitlines()[-1].startswith("fabricscope: api.host, api.port: [Errno 98]")


def test_an_old_spelling_still_works_and_hints_at_the_new_one(tmp_path):
    answer = fabricscope("--log.level=warn", "ingest", "--config.file", str(tmp_path / "none.yaml"))
    assert answer.returncode == 1
    *hints, error = answer.stderr.splitlines()
    assert [re.sub("; .*", "", hint) for hint in hints] == [
        "fabricscope: --log.level is now --log-level",
        "fabricscope: --config.file is now --config",
    ]
    assert error.startswith(f"fabricscope: {tmp_path}/none.yaml: cannot be read")


def test_replay_of_what_is_no_recording(tmp_path):
    answer = fabricscope("replay", str(tmp_path))
    assert answer.returncode == 1
    assert "not a recording" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_demo_does_not_empty_a_folder_of_others(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    answer = fabricscope("run", "--data-dir", str(tmp_path))
    assert answer.returncode == 1
    assert (tmp_path / "thesis.tex").exists()


def test_printed_settings_are_the_defaults(tmp_path):
    printed = fabricscope("config", "print")
    assert printed.returncode == 0
    path = tmp_path / "printed.yaml"
    path.write_text(printed.stdout)
    assert load_settings(path) == load_settings(None)
    assert "# Port to listen on; 0 picks a free one.\n  port: 9099\n" in printed.stdout


@pytest.mark.parametrize("command", [("check", "dashboards"), ("dashboards", "check")])
def test_the_boards_keep_their_rules(command):
    answer = fabricscope(*command)
    assert answer.returncode == 0
    assert answer.stdout.startswith(f"{len(ALL)} boards, ")
    assert answer.stdout.endswith("panels: valid\n")
