"""A worked example of a guide: a Markdown file with the new files, the edits and the commands to run.

A line before a code block says what the block is: ``New file `path`:`` is the whole file, ``In `path`:`` a diff, whose
hunks begin with ``@@`` where there are several. Blocks of ``sh`` are commands. All other text is for people.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?:^(?P<what>New file|In) `(?P<path>[^`]+)`:\n\n)?^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
_NOT_COPIED = {"build", "data"}  # test servers, which the copy links to, and what `make run` leaves behind
_READY = ".ready"
# Plugins that none of these tests needs take twice the time of pytest itself to load.
_PYTEST = "-x -p no:cacheprovider -p no:schemathesis -p no:hypothesispytest -p no:anyio"


@dataclass(frozen=True)
class Step:
    """One place of one file. old: the lines that are there, '' where the file is new. new: the lines instead."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Example:
    """steps: in the order of the text. commands: for a shell, which must all succeed after the steps."""

    steps: tuple[Step, ...]
    commands: tuple[str, ...]

    @property
    def new(self) -> set[str]:
        """Files that it adds."""
        return {step.path for step in self.steps if not step.old}

    @property
    def edited(self) -> set[str]:
        """Files that it changes."""
        return {step.path for step in self.steps if step.old}


def read_example(markdown: str) -> Example:
    """ValueError for a code block that is no step."""
    steps: list[Step] = []
    commands: list[str] = []
    for block in _BLOCK.finditer(markdown):
        what, path, language, text = block["what"], block["path"], block["language"], block["text"]
        if what == "New file":
            steps.append(Step(path, "", text))
        elif what == "In" and language == "diff":
            steps += [Step(path, *_sides(hunk)) for hunk in _HUNK.split(text)]
        elif what is None and language == "sh":
            commands += text.splitlines()
        else:
            raise ValueError(f"a code block that is no step: {text[:60]!r}")
    return Example(tuple(steps), tuple(commands))


def _sides(hunk: str) -> tuple[str, str]:
    """The lines before and after. An empty line is an empty line of both."""
    lines = [line if line.strip() else " \n" for line in hunk.splitlines(keepends=True)]
    if wrong := [line for line in lines if line[0] not in " +-"]:
        raise ValueError(f"a line of a diff begins with a space, + or -: {wrong[0]!r}")
    old, new = ("".join(line[1:] for line in lines if line[0] in side) for side in (" -", " +"))
    return old, new


def copy_product(folder: Path) -> None:
    """All that is needed to run commands in ``folder``, with what is compiled already."""

    def left_out(parent: str, names: list[str]) -> Iterable[str]:
        return [name for name in names if Path(parent) == ROOT and (name.startswith(".") or name in _NOT_COPIED)]

    shutil.copytree(ROOT, folder, ignore=left_out, symlinks=True)
    (folder / "build").symlink_to(ROOT / "build")
    (folder / _READY).touch()


def apply(steps: Iterable[Step], folder: Path) -> None:
    """ValueError when a new file is there already, or the lines of an edit are not there exactly once."""
    for step in steps:
        path = folder / step.path
        if not step.old:
            if path.exists():
                raise ValueError(f"{step.path} is there already")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.new)
            continue
        text = path.read_text()
        places = [found.span() for found in re.finditer(f"^{re.escape(step.old)}", text, re.MULTILINE)]
        if len(places) != 1:
            raise ValueError(f"{step.path} has these lines {len(places)} times:\n{step.old}")
        ((begin, end),) = places
        path.write_text(text[:begin] + step.new + text[end:])


def run(commands: Iterable[str], folder: Path) -> str:
    """The first command that fails in ``folder``, with its output; '' when all succeed."""
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"{command}\n{done.stdout}{done.stderr}"
    return ""


def _environment(folder: Path) -> dict[str, str]:
    """This process's own, with the folder's code, this Python for ``make``, and a pytest that starts fast."""
    programs = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "MAKEFLAGS": f"-- BIN={programs} READY={_READY}",
        "PYTEST_ADDOPTS": _PYTEST,
    }
