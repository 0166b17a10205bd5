"""The stages of one machine as child processes: which there are, and which there are after a reload."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import structlog

from common.errors import ConfigError
from common.tasks import cancel
from fabricscope.running.reload import OF_ALL, changed_keys
from fabricscope.running.supervisor import Child
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import Stage

log = structlog.get_logger()


class StageChildren:
    """A child for each stage that the settings ask for. ConfigError when the settings are wrong."""

    def __init__(self, config_file: Path) -> None:
        self._config_file = config_file
        self.settings = load_settings(config_file)
        self._children = {stage: self._child(stage) for stage in stages_of(self.settings)}

    async def start(self) -> None:
        for child in self._children.values():
            await child.start()

    async def refusal(self) -> str:
        """Returns the words of the first stage that could not start at all."""
        waiting = [asyncio.create_task(child.refusal()) for child in self._children.values()]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return next(iter(done)).result()
        finally:
            await cancel(waiting)

    async def stop(self) -> None:
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    async def reload(self) -> None:
        """Starts and stops stages as the changed settings ask for; the others read them themselves.

        Settings with an error are logged, and change nothing.
        """
        try:
            settings = load_settings(self._config_file)
        except ConfigError as error:
            log.error("settings not reloaded", error=str(error))
            return
        changed = changed_keys(self.settings, settings)
        if any(key.partition(".")[0] in OF_ALL for key in changed):
            log.warning("what this terminal shows needs a restart of fabricscope run", changed=", ".join(changed))
        self.settings = settings
        wanted = stages_of(settings)
        for stage in [stage for stage in self._children if stage not in wanted]:
            await self._children.pop(stage).stop()
        for child in self._children.values():
            if child.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGHUP)
        for stage in [stage for stage in wanted if stage not in self._children]:
            self._children[stage] = self._child(stage)
            await self._children[stage].start()

    def _child(self, stage: Stage) -> Child:
        log_path = self.settings.general.data_dir / "logs" / f"{stage.value}.log"
        return Child(stage.value, [stage.value, "--config", str(self._config_file)], log_path)


def stages_of(settings: Settings) -> list[Stage]:
    """The stages that the settings ask for."""
    is_enabled = {
        Stage.ALERTS: bool(settings.alerting.receivers),
        Stage.EXPORT: bool(settings.remote_write),
        Stage.RECORDER: settings.recording is not None,
    }
    return [stage for stage in Stage if is_enabled.get(stage, True)]
