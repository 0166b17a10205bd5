"""``fabricscope token``: who may use the API, for what, and until when."""

from enum import StrEnum
from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile, duration

LASTS_S, LASTS_S_MAX = 90 * 86_400.0, 366 * 86_400.0


class Scope(StrEnum):
    """What a token allows: as in ``fabricscope.api.access.tokens``, which takes longer to load."""

    READ = "read"
    ACK = "ack"
    REPLAY = "replay"
    ADMIN = "admin"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Tokens of the API.", no_args_is_help=True)
    group.command("create")(create)
    group.command("list")(list_tokens)
    group.command("revoke")(revoke)
    app.add_typer(group, name="token")


def create(
    name: Annotated[str, typer.Argument(help="Who will use it; the audit log shows this name.")],
    config_file: ConfigFile = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="What it allows; may come again. ack: announce changes. admin: everything. Default: read."),
    ] = None,
    lasts: Annotated[
        float,
        typer.Option(parser=duration, metavar="DURATION", help="Until it expires; at most 366d.", show_default="90d"),
    ] = LASTS_S,
) -> None:
    """Create a token and print it, once. A second one of the same name replaces the first without a gap."""
    from fabricscope.commands.token import create_token

    if lasts > LASTS_S_MAX:
        raise typer.BadParameter("lasts: expected at most 366d")
    print(create_token(config_file, name, [one.value for one in scope or [Scope.READ]], lasts))


def list_tokens(config_file: ConfigFile = None) -> None:
    """List all tokens: id, name, scopes, when created, when they expire. Never the tokens themselves."""
    from fabricscope.commands.token import token_lines

    for line in token_lines(config_file):
        print(line)


def revoke(
    which: Annotated[str, typer.Argument(metavar="TOKEN", help="Id, or name for all of this name.")],
    config_file: ConfigFile = None,
) -> None:
    """Revoke a token; an API that runs refuses it from the next request on."""
    from fabricscope.commands.token import revoke_tokens

    for line in revoke_tokens(config_file, which):
        print(line)
