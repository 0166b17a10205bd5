"""``fabricscope incidents``: what the API knows, in a terminal."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fabricscope.arguments.api_options import (
    LIMIT,
    AsOutput,
    CaFile,
    Limit,
    Output,
    Since,
    TokenFile,
    Until,
    Url,
)
from fabricscope.arguments.options import ConfigFile
from telemetry.incidents import IncidentKind, IncidentState, Severity


class _ListByDefault(TyperGroup):
    """``incidents --state firing`` is ``incidents list --state firing``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["list", *args])


def register(app: typer.Typer) -> None:
    group = typer.Typer(cls=_ListByDefault, help="Incidents of a Fabricscope that runs: list, or show one.")
    group.command("list")(list_incidents)
    group.command("show")(show)
    app.add_typer(group, name="incidents")


def list_incidents(
    state: Annotated[IncidentState | None, typer.Option(help="In this state alone.")] = None,
    severity: Annotated[Severity | None, typer.Option(help="Of this severity alone.")] = None,
    kind: Annotated[IncidentKind | None, typer.Option(help="Of this cause alone.")] = None,
    about: Annotated[
        str | None, typer.Option("--object", metavar="NAME", help="That it is about or reaches: node3, GPU-…, a job.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = LIMIT,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List incidents, worst first. --since: those that were open then or later."""
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_incidents

    with open_client(config_file, url, token_file, ca_file) as api:
        found = api.incidents(state=state, severity=severity, kind=kind, object=about, since=since, until=until)
        print_incidents(found, limit, as_json=output is Output.JSON)


def show(
    identity: Annotated[str, typer.Argument(metavar="ID", help="As the list has it.")],
    members: Annotated[bool, typer.Option("--members", help="List all that it reaches, too.")] = False,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show one incident: evidence, why it is this cause, what it reaches, and what to do."""
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_incident

    with open_client(config_file, url, token_file, ca_file) as api:
        reached = list(api.members(identity)) if members else []
        print_incident(api.incident(identity), reached, as_json=output is Output.JSON)
