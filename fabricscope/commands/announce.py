"""``fabricscope announce``: planned work, told before or while it is done, so that nobody is paged for it."""

import asyncio
import getpass
from dataclasses import replace
from typing import Annotated

import typer
from pydantic import ValidationError

from bus.config import BusConfig
from bus.open import open_bus
from common.errors import ConfigError
from common.units import seconds, to_ns
from fabricscope.api.announcement import Announcement, in_words, publish
from fabricscope.api.problem import described
from fabricscope.clock import event_clock
from fabricscope.commands.options import ConfigFile
from fabricscope.settings import load_settings
from telemetry.changes import Change, ChangeKind

LASTS_S_MAX = 366 * 86_400


def register(app: typer.Typer) -> None:
    app.command("announce")(run)


def run(
    kind: Annotated[ChangeKind, typer.Argument(help="What is done.")],
    objects: Annotated[list[str], typer.Argument(metavar="OBJECT", help="To what: device:node1, rack:r2, …")],
    config_file: ConfigFile = None,
    lasts: Annotated[str, typer.Option(metavar="DURATION", help="90s, 2h, 1d; else it happens at a moment.")] = "",
    starts: Annotated[str, typer.Option(metavar="RFC3339", help="2026-01-31T22:00:00Z; else now.")] = "",
    summary: Annotated[str, typer.Option(metavar="TEXT", help="What for, in a few words.")] = "",
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Who does it; else your login name.")] = None,
) -> None:
    """Announce a change of the cluster: under maintenance, reboot, firmware or drain nobody is paged."""
    settings = load_settings(config_file)
    told = {"kind": kind, "objects": objects, "starts": starts or None, "summary": summary}
    try:
        announced = Announcement.model_validate({**told, "author": _login() if author is None else author})
        lasts_s = seconds(lasts) if lasts else 0.0
    except ValidationError as error:
        raise typer.BadParameter(described(error.errors()[0])) from error
    except ValueError as error:
        raise typer.BadParameter(f"lasts: {error}") from error
    if lasts_s > LASTS_S_MAX:
        raise typer.BadParameter("lasts: expected at most 366d")
    change = announced.change(event_clock(settings.general.simulated_time)())
    if lasts_s:
        change = replace(change, ends_ns=change.starts_ns + to_ns(lasts_s))
    asyncio.run(_publish(settings.bus, change))
    print(in_words(change))


async def _publish(config: BusConfig, change: Change) -> None:
    if config.kind == "embedded" and not config.embedded.path.exists():  # a new one would have no readers
        raise ConfigError(f"no bus at {config.embedded.path}: expected the --config.file of a Fabricscope that runs")
    bus = open_bus(config)
    await bus.start()
    try:
        await publish(bus, change)
    finally:
        await bus.stop()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""
