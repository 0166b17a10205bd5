"""The command line as people type it."""

import subprocess
import sys
from pathlib import Path

import pytest

from dashboards.boards import ALL
from fabricscope.settings import load_settings


def fabricscope(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricscope", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)


def test_version_and_help():
    assert fabricscope("version").stdout.startswith("fabricscope 0.")
    listed = fabricscope("--help").stdout
    for command in (
        "run",
        "ingest",
        "analytics",
        "alerts",
        "export",
        "recorder",
        "api",
        "announce",
        "record",
        "replay",
        "simulate",
        "check",
    ):
        assert command in listed


def test_check_config_says_what_it_found(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("global: {cluster: pod7}\n")
    answer = fabricscope("check", "config", str(path))
    assert answer.returncode == 0
    assert "cluster pod7" in answer.stdout


@pytest.mark.parametrize("command", [("check", "config"), ("ingest", "--config.file")])
def test_a_wrong_config_is_one_plain_line(tmp_path, command):
    path = tmp_path / "a.yaml"
    path.write_text("api:\n  prot: 1\n")
    answer = fabricscope(*command, str(path))
    assert answer.returncode == 1
    assert answer.stderr.strip() == f"fabricscope: {path}:2:3: api.prot: unknown key"


def test_replay_of_what_is_no_recording(tmp_path):
    answer = fabricscope("replay", str(tmp_path))
    assert answer.returncode == 1
    assert "not a recording" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_practice_does_not_empty_a_folder_of_others(tmp_path):
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
    assert "# Port to listen on; 0 takes a free one.\n  port: 9099\n" in printed.stdout


def test_the_boards_keep_their_rules():
    answer = fabricscope("check", "dashboards")
    assert answer.returncode == 0
    assert answer.stdout.startswith(f"{len(ALL)} boards, ")
    assert answer.stdout.endswith("panels: valid\n")
