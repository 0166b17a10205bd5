"""``fabricscope events``: pauses, storms, XIDs, outages, reboots and logs, as the sources show them."""

from typing import Annotated

import typer

from fabricscope.arguments.api_options import LIMIT, AsOutput, CaFile, Limit, Output, Since, TokenFile, Until, Url
from fabricscope.arguments.options import ConfigFile
from telemetry.events import EventKind


def register(app: typer.Typer) -> None:
    app.command("events")(events)


def events(
    kind: Annotated[EventKind | None, typer.Option(help="Of this kind alone.")] = None,
    object: Annotated[str | None, typer.Option(help="About it alone, such as leaf1 or port:leaf1/Ethernet4.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = LIMIT,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List the events that a Fabricscope that runs knows, latest first. --since: those not over by then."""
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_events

    with open_client(config_file, url, token_file, ca_file) as api:
        found = api.events(kind=kind, object=object, since=since, until=until)
        print_events(found, limit, as_json=output is Output.JSON)
