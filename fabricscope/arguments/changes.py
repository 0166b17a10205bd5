"""``fabricscope changes``: what was announced or done. ``fabricscope change add`` announces."""

from typing import Annotated

import typer

from fabricscope.arguments.api_options import LIMIT, AsOutput, CaFile, Limit, Output, Since, TokenFile, Until, Url
from fabricscope.arguments.options import ConfigFile
from telemetry.changes import ChangeKind


def register(app: typer.Typer) -> None:
    app.command("changes")(changes)


def changes(
    kind: Annotated[ChangeKind | None, typer.Option(help="Of this kind alone.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = LIMIT,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the changes that a Fabricscope that runs knows, latest start first. --since: those not over by then."""
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_changes

    with open_client(config_file, url, token_file, ca_file) as api:
        found = api.changes(kind=kind, since=since, until=until)
        print_changes(found, limit, as_json=output is Output.JSON)
