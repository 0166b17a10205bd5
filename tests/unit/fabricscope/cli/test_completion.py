"""Completion as the shells ask for it: bash itself where it is at hand, the others by their protocol."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabricscope.arguments.completion import Shell
from fabricscope.cli import app
from tests.waiting import DEADLINE_S

PROGRAM = Path(sys.executable).with_name("fabricscope")


def script(shell: str) -> str:
    printed = CliRunner().invoke(app, ["completion", shell])
    assert printed.exit_code == 0
    return printed.output


def in_bash(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    (folder / "fabricscope.bash").write_text(script("bash"))
    typed = " ".join(f"'{word}'" for word in ("fabricscope", *words))
    code = f"""
source '{folder}/fabricscope.bash'
COMP_WORDS=({typed}); COMP_CWORD={len(words)}
$(complete -p fabricscope | sed 's/.*-F \\([^ ]*\\) .*/\\1/') fabricscope
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True, timeout=DEADLINE_S, env=environment
    )
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("de",), ["deadletter", "detect"]),
        (("token", ""), ["create", "list", "revoke"]),
        (("collect", "--out"), ["--output"]),
        (("collect", "--output", ""), ["json", "table"]),
        (("completion", ""), ["bash", "fish", "zsh"]),
    ],
)
def test_bash_completes(tmp_path: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert in_bash(tmp_path, *words) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_answered(shell: str) -> None:
    assert f"_FABRICSCOPE_COMPLETE=complete_{shell}" in script(shell)
    environment = {
        **os.environ,
        "_FABRICSCOPE_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "fabricscope tok",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False, timeout=DEADLINE_S, env=environment)
    assert "token" in done.stdout
    assert "deadletter" not in done.stdout


def test_each_shell_has_a_script() -> None:
    assert len({script(shell.value) for shell in Shell}) == 3
