"""A scrape job: the collectors of its targets, as discovery finds them."""

import asyncio
from collections.abc import Iterable

import structlog

from ingest.collectors.base import CollectorContext, TargetChanges
from ingest.collectors.exposition.collector import ExpositionCollector, check_files
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.decode.body import warm_up
from ingest.collectors.exposition.discovery import Discovery, Target

log = structlog.get_logger("ingest")


class ScrapeJob:
    """Compares the targets of each refresh with those of the last one.

    owners: the job of each target, of all jobs of the process. A target's label ``job`` may give it the name that one
    of another job has: the first one keeps it.
    """

    def __init__(self, config: ScrapeConfig, context: CollectorContext, owners: dict[str, str]) -> None:
        self._config, self._context, self._owners = config, context, owners
        self._discovery = Discovery(config)
        self._targets: dict[str, Target] | None = None

    @property
    def name(self) -> str:
        return self._config.job_name

    @property
    def refresh_s(self) -> float | None:
        return self._discovery.refresh_s

    async def refresh(self) -> TargetChanges:
        if self._targets is None:  # the first collection must not wait for the compiler
            await asyncio.get_running_loop().run_in_executor(self._context.workers, warm_up)
        before = self._targets or {}
        after = self._targets = self._own(await self._discovery.refresh())
        return TargetChanges(
            removed=[name for name, target in before.items() if after.get(name) != target],
            added=[self._collector(target) for name, target in after.items() if before.get(name) != target],
            targets=tuple((name, target.device) for name, target in after.items())
            if self._discovery.is_known
            else None,
        )

    def _own(self, found: Iterable[Target]) -> dict[str, Target]:
        """The targets by name, without those whose name another job has."""
        targets = {target.name: target for target in found}
        for name in (self._targets or {}).keys() - targets.keys():
            self._owners.pop(name)
        for name in list(targets):
            if (owner := self._owners.setdefault(name, self.name)) != self.name:
                log.warning("target is left out", job=self.name, target=name, error=f"job {owner} has one of this name")
                del targets[name]
        return targets

    def _collector(self, target: Target) -> ExpositionCollector:
        return ExpositionCollector(self._config, target, self._context)


def scrape_jobs(configs: Iterable[ScrapeConfig], context: CollectorContext) -> list[ScrapeJob]:
    """ConfigError for secrets and certificates that cannot be read."""
    for config in configs:
        check_files(config)
    owners: dict[str, str] = {}
    return [ScrapeJob(config, context, owners) for config in configs]
