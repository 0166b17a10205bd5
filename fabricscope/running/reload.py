"""Settings that are read again while a stage runs.

A stage whose settings have changed stops in order and becomes a new program in the same process: it continues from its
state, as after any restart, and no setting can be forgotten. Settings with an error change nothing.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

import structlog
from pydantic import BaseModel

from bus.open import open_bus
from common.errors import ConfigError
from fabricscope.running.metrics import RELOAD_SUCCESS_TIMESTAMP, RELOAD_SUCCESSFUL
from fabricscope.running.stopping import SUPERVISED
from fabricscope.settings import OF_INGEST, Settings
from fabricscope.stages import Stage, build

_SECTIONS = {
    Stage.INGEST: ("ingest", *OF_INGEST),
    Stage.ANALYTICS: ("analytics",),
    Stage.ALERTS: ("alerting",),
    Stage.EXPORT: ("remote_write",),
    Stage.RECORDER: ("recording", "analytics"),  # whose settings are in the manifest
    Stage.API: ("api",),
}
OF_ALL = ("global", "bus", "metrics")
"""Sections that concern every stage."""
log = structlog.get_logger()


class Reload:
    """Reads the settings of one running stage again. load: the same file; ConfigError when it is wrong."""

    def __init__(self, stage: Stage, settings: Settings, load: Callable[[], Settings]) -> None:
        self._stage, self._settings, self._load = stage, settings, load
        self._due = asyncio.Event()
        RELOAD_SUCCESSFUL.set(1)
        RELOAD_SUCCESS_TIMESTAMP.set_to_current_time()

    def on_signal(self) -> None:
        """From now on SIGHUP asks for it; one that came since ``run_again`` does at once."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    async def due(self) -> None:
        """Returns once the settings of this stage have changed to others that can be used."""
        await self._due.wait()

    def read(self) -> list[str]:
        """The keys that have changed. ConfigError, and nothing changes, when the settings cannot be used."""
        try:
            settings = self._load()
            changed = changed_keys(self._settings, settings)
            if self._concerned(changed):
                build(self._stage, settings, open_bus(settings.bus))
        except ConfigError as error:
            RELOAD_SUCCESSFUL.set(0)
            log.error("settings not reloaded", error=str(error))
            raise
        RELOAD_SUCCESSFUL.set(1)
        RELOAD_SUCCESS_TIMESTAMP.set_to_current_time()
        log.info("settings read again", changed=", ".join(changed) or "nothing")
        return changed

    def everywhere(self, changed: list[str]) -> None:
        """Starts what is concerned again: all stages of a ``fabricscope run``, else this one."""
        if SUPERVISED in os.environ:
            os.kill(os.getppid(), signal.SIGHUP)  # it sends one to each of its stages, this one too
        else:
            self._start_again(changed)

    def _reload(self) -> None:
        with contextlib.suppress(ConfigError):  # the log has it
            self._start_again(self.read())

    def _start_again(self, changed: list[str]) -> None:
        if self._concerned(changed):
            self._due.set()

    def _concerned(self, changed: list[str]) -> bool:
        sections = {*_SECTIONS[self._stage], *OF_ALL}
        return any(key.partition(".")[0] in sections for key in changed)


def changed_keys(old: Settings, new: Settings) -> list[str]:
    """``section.key`` of all that differ, as in the file and in its usual order."""
    return [key for section in Settings.model_fields for key in _changed(section, old, new)]


def _changed(section: str, old: Settings, new: Settings) -> Iterator[str]:
    before, after = getattr(old, section), getattr(new, section)
    if isinstance(before, BaseModel) and type(before) is type(after):
        name = Settings.model_fields[section].alias or section
        keys = [key for key in type(before).model_fields if getattr(before, key) != getattr(after, key)]
        yield from (key if section == "ingest" and key in OF_INGEST else f"{name}.{key}" for key in keys)
    elif before != after:
        yield section


def run_again() -> NoReturn:
    """This process becomes a new program with the arguments of this one. SIGHUP waits until ``on_signal``."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
