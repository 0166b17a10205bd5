"""A change event from the command line onto the bus, under the same limits as through the API."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from bus.config import BusConfig
from common.errors import BadInput
from fabricscope.api.change_event import ChangeEvent, audited, describe_change, moment, publish_change
from fabricscope.api.problem import describe_error
from fabricscope.clock import event_clock
from fabricscope.commands.audited import audited_command, login_name
from fabricscope.commands.running_bus import require_bus, running_bus
from fabricscope.settings import load_settings
from telemetry.changes import Change


def add_change(config_file: Path | None, given: dict[str, Any], author: str | None, lasts_s: float | None) -> str:
    """Publishes the change with this machine's own token, notes it in the audit log and returns its description.

    given: fields of ``ChangeEvent`` but ``author``, which is the login name when None. lasts_s: None for a moment.
    """
    settings = load_settings(config_file)
    now_ns = event_clock(settings.general.simulated_time)()
    try:
        event = ChangeEvent.model_validate({**given, "author": login_name() if author is None else author})
    except ValidationError as error:
        raise typer.BadParameter(describe_error(error.errors()[0])) from error
    if lasts_s is not None:
        starts = event.starts or moment(now_ns)
        event = event.model_copy(update={"starts": starts, "ends": starts + timedelta(seconds=lasts_s)})
    try:
        change = event.change(now_ns)
    except BadInput as error:
        raise typer.BadParameter(str(error)) from error
    require_bus(settings.bus)
    with audited_command(settings.api.state_dir, "change add", audited(change)):
        asyncio.run(_publish(settings.bus, change))
    return describe_change(change)


async def _publish(config: BusConfig, change: Change) -> None:
    async with running_bus(config) as bus:
        await publish_change(bus, change)
