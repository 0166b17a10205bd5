"""The examples at the end of each help: there is one for each command, and the parser takes it."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from fabricscope.arguments.examples import EXAMPLES
from fabricscope.arguments.exit_statuses import _OWN
from fabricscope.cli import app
from fabricscope.stages import Stage


def commands(command: Any = None, path: str = "") -> Iterator[str]:
    """Those that do something: no groups."""
    command = command or get_command(app)
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path
        return
    for name, each in inner.items():
        yield from commands(each, f"{path} {name}".strip())


def parsed(line: str) -> str:
    """The path of the command that takes this line; an error of the parser when none does."""
    found = re.search(r"\bfabricscope ([^>)|]*)", line)
    assert found, line
    command: Any = get_command(app)
    context = command.make_context("fabricscope", shlex.split(found[1]))
    path = []
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        path.append(name)
        context = command.make_context(name, rest, parent=context)
    return " ".join(path)


def test_every_command_has_an_example_in_fabricscope_arguments_examples() -> None:
    assert set(commands()) == set(EXAMPLES)


@pytest.mark.parametrize(("path", "line"), [(path, line) for path, lines in EXAMPLES.items() for line in lines])
def test_the_parser_takes_it(path: str, line: str) -> None:
    assert parsed(line) == path


def test_the_parser_refuses_an_option_that_there_is_not() -> None:
    with pytest.raises(Exception, match="No such option"):
        parsed("fabricscope replay monday --sped 2")


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_help_says_what_each_exit_status_means(path: str) -> None:
    helped = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "300"})
    (line,) = re.findall(r"Exit status: (.*)", helped.output)
    statuses = re.findall(r"(?:^|; )(\d) \w", line)
    assert statuses[:3] == ["0", "1", "2"]
    can_be_superseded = path in {*Stage}
    assert ("3" in statuses) == (can_be_superseded or path == "detect")


def test_no_other_command_has_exit_statuses_of_its_own() -> None:
    assert set(_OWN) <= set(commands())


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_help_ends_with_them(path: str) -> None:
    helped = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "200"})
    end = helped.output.split("Examples:")[1]
    shown = [line.strip().removeprefix("$ ") for line in end.splitlines() if line.strip()]
    assert shown == list(EXAMPLES[path])
