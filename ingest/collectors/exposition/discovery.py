"""The targets of a scrape job: from the settings, from files and from an HTTP service; then relabelled."""

import asyncio
import glob
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from common.documents.bounded_yaml import BYTES_MAX, parse_bounded
from common.errors import BadInput, ConfigError, Unavailable
from common.printing import mask_userinfo
from ingest.collectors.exposition.config import Address, HttpSdConfig, ScrapeConfig
from ingest.collectors.exposition.relabel import LabelName, relabel
from ingest.transport.http1 import Url

log = structlog.get_logger("ingest")
_PARAM = "__param_"  # exporters that ask others are sent whom to ask as a parameter
_HTTP_TIMEOUT_S, _HTTP_BYTES_MAX = 30.0, 16 * 1024 * 1024


class TargetGroup(BaseModel):
    """Addresses that share labels, in the form of Prometheus' file and HTTP discovery."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    targets: tuple[Address, ...]
    labels: dict[LabelName, str] = {}

    def seen_in(self, label: str, where: str) -> "TargetGroup":
        """The group with the label that says where it was found."""
        return self.model_copy(update={"labels": {**self.labels, label: where}})


_groups = TypeAdapter(tuple[TargetGroup, ...])


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint to scrape. identity: labels of all its series, ``device`` among them.

    name: ``job/address``, by the label ``job``: as in Prometheus the job's name, unless the target has one of its own.
    """

    name: str
    url: Url
    identity: tuple[tuple[str, str], ...]

    @property
    def device(self) -> str:
        return dict(self.identity)["device"]


def resolve(job: ScrapeConfig, groups: Iterable[TargetGroup]) -> list[Target]:
    """The job's targets after relabelling, each address and path once, in the order of the groups.

    One whose address is of no use is left out, with a warning: the others have done nothing.
    """
    found: dict[str, Target] = {}
    for group in groups:
        for address in group.targets:
            labels = {
                "__scheme__": job.scheme,
                "__metrics_path__": job.metrics_path,
                "job": job.job_name,
                **{f"{_PARAM}{name}": values[0] for name, values in job.params.items() if values},
                **group.labels,
                "__address__": address,
            }
            try:
                target = _target(job, relabel(labels, job.relabel_configs))
            except ValueError as error:
                log.warning("target is left out", job=job.job_name, target=address, error=str(error))
                continue
            if target is not None:
                found.setdefault(target.name, target)
    return list(found.values())


def _target(job: ScrapeConfig, labels: dict[str, str] | None) -> Target | None:
    if labels is None or not labels.get("__address__"):
        return None
    scheme, path = labels.get("__scheme__", job.scheme), labels.get("__metrics_path__", job.metrics_path)
    url = Url.build(scheme, labels["__address__"], f"/{path.removeprefix('/')}", _params(job.params, labels))
    path = "" if url.path == "/metrics" else url.path
    identity = {name: value for name, value in labels.items() if not name.startswith("__") and name != "job"}
    identity.setdefault("device", url.host)
    name = f"{labels.get('job') or job.job_name}/{labels['__address__']}{path}"
    return Target(name, url, tuple(sorted(identity.items())))


def _params(params: Mapping[str, tuple[str, ...]], labels: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The job's parameters, the first value of each as the target's label ``__param_<name>`` says."""
    of_target = {name.removeprefix(_PARAM): value for name, value in labels.items() if name.startswith(_PARAM)}
    return {**params, **{name: (value, *params.get(name, ())[1:]) for name, value in of_target.items()}}


class Discovery:
    """Keeps the groups of one job up to date; a source that cannot be read keeps its last good groups."""

    def __init__(self, job: ScrapeConfig) -> None:
        self._job = job
        self._groups: dict[str, tuple[TargetGroup, ...]] = {
            "static": tuple(TargetGroup(targets=c.targets, labels=c.labels) for c in job.static_configs)
        }

    @property
    def refresh_s(self) -> float | None:
        """How often to refresh; None when nothing can change."""
        periods = [config.refresh_interval for config in self._job.file_sd_configs]
        periods += [config.refresh_interval for config in self._job.http_sd_configs]
        return min(periods, default=None)

    @property
    def is_known(self) -> bool:
        """Whether every source has been read once."""
        files = {f"file {pattern}" for config in self._job.file_sd_configs for pattern in config.files}
        return self._groups.keys() >= files | {f"url {http.url}" for http in self._job.http_sd_configs}

    async def refresh(self) -> list[Target]:
        for config in self._job.file_sd_configs:
            for pattern in config.files:
                await self._refresh(f"file {pattern}", asyncio.to_thread(_read_files, pattern))
        for http in self._job.http_sd_configs:
            await self._refresh(f"url {http.url}", _fetch(http))
        return resolve(self._job, (group for groups in self._groups.values() for group in groups))

    async def _refresh(self, where: str, reading: Awaitable[tuple[TargetGroup, ...]]) -> None:
        try:
            self._groups[where] = await reading
        except (BadInput, Unavailable, OSError) as error:
            log.warning(
                "discovery failed, its last targets are kept", job=self._job.job_name, source=where, error=str(error)
            )


def _read_files(pattern: str) -> tuple[TargetGroup, ...]:
    groups: list[TargetGroup] = []
    for name in sorted(glob.glob(pattern)):
        path = Path(name)
        if not path.is_file():  # a pipe would hold up all others
            raise BadInput(f"{name}: expected a file")
        with path.open("rb") as file:
            content = parse_bounded(file.read(BYTES_MAX + 1), name)
        groups.extend(group.seen_in("__meta_filepath", name) for group in parse_groups(content or [], name))
    return tuple(groups)


async def _fetch(config: HttpSdConfig) -> tuple[TargetGroup, ...]:
    from common.http import HttpClient, NoAnswer  # aiohttp takes a while to import, and few jobs need it

    try:
        headers = {"Accept": "application/json", **config.secret_headers()}
        async with HttpClient(timeout_s=_HTTP_TIMEOUT_S, tls=config.tls_config) as client:
            answer = await client.get(config.url, headers, body_bytes_max=_HTTP_BYTES_MAX)
    except ConfigError as error:
        raise Unavailable(f"{config.url}: {error}") from None
    except NoAnswer as failure:
        raise Unavailable(f"{config.url}: {failure.detail}") from None
    if answer.status != 200:
        raise Unavailable(f"{config.url}: status {answer.status}")
    groups = parse_groups(parse_bounded(answer.body, config.url, bytes_max=_HTTP_BYTES_MAX), config.url)
    return tuple(group.seen_in("__meta_url", mask_userinfo(config.url)) for group in groups)


def parse_groups(content: object, where: str) -> tuple[TargetGroup, ...]:
    """Target groups of a discovery file's content; BadInput that names the place."""
    try:
        return _groups.validate_python(content)
    except ValidationError as error:
        raise BadInput(f"{where}: {_first(error)}") from None


def _first(error: ValidationError) -> str:
    detail = error.errors()[0]
    return f"{'.'.join(map(str, detail['loc'])) or 'list'}: {detail['msg']}"
