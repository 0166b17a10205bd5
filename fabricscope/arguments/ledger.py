"""``fabricscope ledger``: what became of every sample."""

from typing import Annotated

import typer

from fabricscope.arguments.api_options import LIMIT, AsOutput, CaFile, Limit, Output, TokenFile, Url
from fabricscope.arguments.options import ConfigFile


def register(app: typer.Typer) -> None:
    app.command("ledger")(ledger)


def ledger(
    targets: Annotated[bool, typer.Option("--targets", help="Each target, instead of stages and jobs.")] = False,
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Of this job's targets alone.")] = None,
    device: Annotated[str | None, typer.Option(metavar="NAME", help="Of this switch or host alone.")] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Only targets with samples that were dropped.")] = False,
    limit: Limit = LIMIT,
    output: AsOutput = Output.TABLE,
    config_file: ConfigFile = None,
    url: Url = None,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """List how many samples a Fabricscope that runs has received, delivered and dropped, and why.

    By stage and by job of the settings; by target with --targets, --job, --device or --lossy: those that lost most
    come first.
    """
    from fabricscope.commands.api_client import open_client
    from fabricscope.commands.listing import print_accounts, print_ledger

    as_json = output is Output.JSON
    with open_client(config_file, url, token_file, ca_file) as api:
        if targets or lossy or job is not None or device is not None:
            found = api.target_accounts(device=device, job=job, dropped=True if lossy else None)
            print_accounts(found, limit, as_json=as_json)
        else:
            print_ledger(api.stage_reports(), api.job_accounts(), as_json=as_json)
