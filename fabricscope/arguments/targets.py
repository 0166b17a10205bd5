"""``fabricscope targets``: what is collected from, and whether it answers."""

from typing import Annotated

import typer

from fabricscope.arguments.api_options import LIMIT, AsOutput, CaFile, Limit, Output, TokenFile, Url
from fabricscope.arguments.options import ConfigFile


def register(app: typer.Typer) -> None:
    app.command("targets")(targets)


def targets(
    down: Annotated[bool, typer.Option("--down", help="Only those that do not answer.")] = False,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="Of this switch or host alone.")] = None,
    limit: Limit = LIMIT,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the targets of a Fabricscope that runs, with their newest collection: down first, then by name."""
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_targets

    with open_client(config_file, url, token_file, ca_file) as api:
        found = api.targets(up=False if down else None, device=device)
        print_targets(found, limit, as_json=output is Output.JSON)
