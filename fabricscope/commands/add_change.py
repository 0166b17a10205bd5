"""A change event from the command line onto the bus."""

import asyncio
import getpass
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from bus.config import BusConfig
from bus.open import open_bus
from common.errors import ConfigError
from common.units import to_ns
from fabricscope.api.change_event import ChangeEvent, describe_change, publish_change
from fabricscope.api.problem import describe_error
from fabricscope.clock import event_clock
from fabricscope.settings import load_settings
from telemetry.changes import Change


def add_change(config_file: Path | None, given: dict[str, Any], author: str | None, lasts_s: float | None) -> str:
    """Publishes the change and returns its description.

    given: fields of ``ChangeEvent`` but ``author``, which is the login name when None. lasts_s: None for a moment.
    """
    settings = load_settings(config_file)
    try:
        event = ChangeEvent.model_validate({**given, "author": _login() if author is None else author})
    except ValidationError as error:
        raise typer.BadParameter(describe_error(error.errors()[0])) from error
    change = event.change(event_clock(settings.general.simulated_time)())
    if lasts_s is not None:
        change = replace(change, ends_ns=change.starts_ns + to_ns(lasts_s))
    asyncio.run(_publish(settings.bus, change))
    return describe_change(change)


async def _publish(config: BusConfig, change: Change) -> None:
    if config.kind == "embedded" and not config.embedded.path.exists():  # a new one would have no readers
        raise ConfigError(f"no bus at {config.embedded.path}: expected the --config of a Fabricscope that runs")
    bus = open_bus(config)
    await bus.start()
    try:
        await publish_change(bus, change)
    finally:
        await bus.stop()


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return ""
