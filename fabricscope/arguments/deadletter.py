"""``fabricscope deadletter``: records that no stage could use, and how to give them back."""

from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile

Numbers = Annotated[list[int], typer.Argument(metavar="NUMBER", min=0, help="As `deadletter list` prints it.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Records that could not be read, or that ended a stage.", no_args_is_help=True)
    group.command("list")(list_)
    group.command("show")(show)
    group.command("replay")(replay)
    app.add_typer(group, name="deadletter")


def list_(config_file: ConfigFile = None) -> None:
    """Print all dead letters, the oldest first: one line each."""
    from fabricscope.commands.deadletter import print_letters

    print_letters(config_file)


def show(
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=0, help="As `deadletter list` prints it.")],
    config_file: ConfigFile = None,
) -> None:
    """Print one dead letter: why it is there, its headers, and its first 4 KiB, escaped."""
    from fabricscope.commands.deadletter import print_letter

    print_letter(config_file, number)


def replay(
    numbers: Numbers,
    config_file: ConfigFile = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Publish the original records again to their topics, where they can be decoded now.

    Exit status 1 when some cannot.
    """
    from fabricscope.commands.deadletter import replay_letters

    if not replay_letters(config_file, numbers, ask=None if yes else typer.confirm):
        raise typer.Exit(1)
