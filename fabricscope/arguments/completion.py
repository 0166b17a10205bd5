"""``fabricscope completion``: what a shell needs to complete commands, options and their values."""

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    app.command("completion")(completion)


def completion(shell: Annotated[Shell, typer.Argument(help="Whose script is printed.")]) -> None:
    """Print the completion script of a shell, to be read at its start."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # named there for its own options

    print(get_completion_script(prog_name="fabricscope", complete_var="_FABRICSCOPE_COMPLETE", shell=shell.value))
