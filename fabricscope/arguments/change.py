"""``fabricscope change add``: planned work, published before or while it is done, so that nobody is paged for it."""

from typing import Annotated

import typer

from common.printing import printable
from fabricscope.arguments.options import ConfigFile, duration
from telemetry.changes import ChangeKind

LASTS_S_MAX = 30 * 86_400


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Changes of the cluster: maintenance, reboots, firmware, …", no_args_is_help=True)
    group.command("add")(add)
    app.add_typer(group, name="change")


def add(
    kind: Annotated[ChangeKind, typer.Argument(help="What is done.")],
    objects: Annotated[list[str], typer.Argument(metavar="OBJECT", help="To what: device:node1, rack:r2, …")],
    config_file: ConfigFile = None,
    lasts: Annotated[
        float | None,
        typer.Option(parser=duration, metavar="DURATION", help="90s, 2h, 1d; else it happens at a moment."),
    ] = None,
    starts: Annotated[str, typer.Option(metavar="RFC3339", help="2026-01-31T22:00:00Z; else now.")] = "",
    summary: Annotated[str, typer.Option(metavar="TEXT", help="What for, in a few words.")] = "",
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Who does it; else your login name.")] = None,
) -> None:
    """Publish a change event: under maintenance, reboot, firmware or drain nobody is paged."""
    from fabricscope.commands.add_change import add_change

    if lasts is not None and lasts > LASTS_S_MAX:
        raise typer.BadParameter("lasts: expected at most 30d")
    given = {"kind": kind, "objects": objects, "starts": starts or None, "summary": summary}
    print(printable(add_change(config_file, given, author, lasts)))
