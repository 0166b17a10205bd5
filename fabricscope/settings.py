"""All settings of the program, composed from the components' own: one YAML file, then the environment over it."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from alerts.config import AlertingConfig
from analytics.config import AnalyticsConfig
from bus.config import BusConfig
from common.documents.yaml_positions import Positions, load_with_positions, locate, nearest
from common.errors import ConfigError
from common.printing import mask_userinfo
from export.remote_write.config import RemoteWriteConfig
from fabricscope.api.config import ApiConfig
from fabricscope.clock import SimulatedTime
from fabricscope.known_keys import similar_key
from ingest.config import CollectorSections, IngestConfig
from recordings.config import RecordingConfig
from telemetry import catalogue
from telemetry.catalogue import OwnMetric

ENVIRONMENT_PREFIX = "FABRICSCOPE__"
_OWN = TypeAdapter(tuple[OwnMetric, ...])
_PLAIN = re.compile(r"[\w.+: -]{1,40}")
_SECRET = re.compile(r"secret|password|token|credential|key|auth|header")
_IN_WORDS = {
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dict_type", "dataclass_type"), "expected keys with values"
    ),
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), "expected a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "expected a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "expected a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    "string_type": "expected text",
    "missing": "is missing",
    "union_tag_not_found": "type: is missing",
}
"""What pydantic says in the words of Python."""
OF_INGEST = tuple(CollectorSections.model_fields)
"""Sections at the top level of the file, as in Prometheus', that belong to the ingest stage."""
_COUNTED = ("scrape_configs", "gnmi_configs", "job_sources", "kubernetes_sources", "inventory")


class MetricsPorts(BaseModel):
    """Loopback ports of the stages' own ``/metrics``; 0 is none. The API has its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ingest: int = Field(9211, ge=0, le=65535, description="Of the stage ingest.")
    analytics: int = Field(9212, ge=0, le=65535, description="Of the stage analytics.")
    alerts: int = Field(9213, ge=0, le=65535, description="Of the stage alerts.")
    export: int = Field(9214, ge=0, le=65535, description="Of the stage export.")
    recorder: int = Field(9215, ge=0, le=65535, description="Of the stage recorder.")


class GlobalConfig(BaseModel):
    """Settings of all stages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: str = Field(
        "cluster",
        min_length=1,
        max_length=64,
        description="Name of this cluster, label of every alert and series that leaves.",
    )
    data_dir: Path = Field(Path("data"), description="Where the embedded bus, snapshots and outbox live.")
    simulated_time: SimulatedTime | None = Field(None, description="Only for a simulated cluster that runs fast.")
    metrics_host: str = Field("127.0.0.1", description="Address of the stages' own /metrics.")
    metrics_ports: MetricsPorts = MetricsPorts()


class Settings(BaseModel):
    """The whole file. Environment variables like ``FABRICSCOPE__API__PORT=9100`` go over it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    general: GlobalConfig = Field(GlobalConfig(), alias="global")
    bus: BusConfig = BusConfig()
    ingest: IngestConfig = IngestConfig()
    analytics: AnalyticsConfig = AnalyticsConfig()
    alerting: AlertingConfig = AlertingConfig()
    metrics: tuple[OwnMetric, ...] = Field((), description="Metrics that the catalogue does not have.")
    remote_write: tuple[RemoteWriteConfig, ...] = ()
    recording: RecordingConfig | None = None
    api: ApiConfig = ApiConfig()

    @model_validator(mode="before")
    @classmethod
    def _apply_global_defaults(cls, document: dict[str, Any]) -> dict[str, Any]:
        return apply_global_defaults(document)

    @field_validator("metrics")
    @classmethod
    def _names_differ(cls, own: tuple[OwnMetric, ...]) -> tuple[OwnMetric, ...]:
        names = [one.name for one in own]
        if twice := sorted(name for name in set(names) if names.count(name) > 1):
            raise ValueError(f"{', '.join(twice)}: expected each name once")
        return own

    def summary(self) -> list[str]:
        """A few lines about what the settings configure, without secrets."""
        alerting = self.alerting
        collects = any(getattr(self.ingest, section) for section in OF_INGEST)
        nothing = "" if collects else ": nothing is collected"
        job_sources = len(self.ingest.job_sources) + len(self.ingest.kubernetes_sources)
        further = {section: len(getattr(self.ingest, section)) for section in OF_INGEST if section not in _COUNTED}
        others = ", ".join(f"{section} ({number})" for section, number in further.items() if number)
        mapped = self.ingest.mapped()
        unnamed = ", ".join(one.name for one in self.metrics if not one.origins and one.name not in mapped)
        return [
            f"cluster {self.general.cluster}, bus {self.bus.kind}",
            f"{_count(len(self.ingest.scrape_configs), 'scrape job')}, "
            f"{_count(len(self.ingest.gnmi_configs), 'gNMI job')}, {_count(job_sources, 'job source')}, "
            f"{'an' if self.ingest.inventory else 'no'} inventory{nothing}",
            *([f"further sources: {others}"] if others else []),
            *([f"metrics that no origin and no mapping here names: {unnamed}"] if unnamed else []),
            f"receivers: {', '.join(receiver.name for receiver in self.alerting.receivers) or 'none'}",
            f"links in pages: {mask_userinfo(alerting.external_url) or 'none: alerting.external_url is missing'}",
            f"links to boards: {mask_userinfo(alerting.grafana_url) or 'none: alerting.grafana_url is missing'}",
            f"heartbeat: {'sent' if self.alerting.heartbeat else 'none: nobody outside notices when paging stops'}",
            f"remote write: {', '.join(mask_userinfo(target.url) for target in self.remote_write) or 'nowhere'}",
        ]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def apply_global_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the values of ``global`` as defaults of each section that needs them; its own values win."""
    try:
        shared = GlobalConfig.model_validate(document.get("global", {}))
    except ValidationError:  # reported once, with its place, when the whole is validated
        shared = GlobalConfig()
    document = dict(document)
    ingest = _section(document, ("ingest",))
    for key in OF_INGEST:
        if key in document and key in ingest:
            raise WrongKey((key,), f"{key}: expected at the top or below ingest, found both")
        if key in document:
            ingest[key] = document.pop(key)
    data = shared.data_dir
    publish = _section(ingest, ("ingest", "publish"))
    instance = str(ingest.get("instance", IngestConfig.model_fields["instance"].default))
    spool = {"folder": data / "ingest" / instance, **_section(publish, ("ingest", "publish", "spool"))}
    document["ingest"] = {**ingest, "publish": {**publish, "spool": spool}}
    bus = _section(document, ("bus",))
    document["bus"] = {**bus, "embedded": {"path": data / "bus.sqlite", **_section(bus, ("bus", "embedded"))}}
    document["analytics"] = {"state_dir": data / "analytics", **_section(document, ("analytics",))}
    document["api"] = {"state_dir": data / "api", **_section(document, ("api",))}
    document["alerting"] = {"cluster": shared.cluster, "folder": data / "alerts", **_section(document, ("alerting",))}
    targets = document.get("remote_write")
    if isinstance(targets, list) and all(isinstance(target, dict) for target in targets):
        document["remote_write"] = [
            {"folder": data / "remote_write", **_named(target, shared.cluster, number)}
            for number, target in enumerate(targets)
        ]
    return document


def with_environment(document: dict[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The document with ``FABRICSCOPE__SECTION__KEY`` over it; values are read as YAML, so that lists are possible."""
    for variable in sorted(environment):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        *sections, key = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
        document = dict(document)
        inside = document
        for depth, section in enumerate(sections, start=1):
            try:
                inside[section] = _section(inside, tuple(sections[:depth]))
            except WrongKey as error:
                raise ConfigError(f"environment {variable}: {error}") from None
            inside = inside[section]
        try:
            inside[key] = yaml.load(environment[variable], yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise ConfigError(f"environment {variable}: not a YAML value") from error
    return document


class WrongKey(ConfigError):
    """What cannot be put together before it is validated: ``where`` from the top of the document."""

    def __init__(self, where: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.where = where


def _section(document: dict[str, Any], where: tuple[str | int, ...]) -> dict[str, Any]:
    """A copy of the section of ``document`` that the last of ``where`` names; WrongKey when it is something else."""
    section = document.get(str(where[-1]), {})
    if not isinstance(section, dict):
        raise WrongKey(where, f"{_dotted(where)}: expected keys with values, {_quoted(where, section)}")
    return dict(section)


def _named(target: dict[str, Any], cluster: str, number: int) -> dict[str, Any]:
    labels = _section(target, ("remote_write", number, "external_labels"))
    return {**target, "external_labels": {"cluster": cluster, **labels}}


def load_settings(path: Path | None) -> Settings:
    """Settings from a file, or the defaults; ConfigError with file:line:column for each value that is wrong.

    Their own metrics are known to the whole process from then on.
    """
    document: dict[str, Any] = {}
    positions: Positions = {}
    if path is not None:
        document, positions = load_with_positions(path)
    before = catalogue.defined()
    try:
        document = with_environment(document, os.environ)
        catalogue.define(_own_metrics(document))  # first: other sections name them
        return Settings.model_validate(document)
    except WrongKey as error:
        catalogue.define(before)
        raise ConfigError(f"{_place(path, positions, error.where)}{error}") from error
    except ValidationError as error:
        catalogue.define(before)
        problems = [(_written(document, problem), problem) for problem in _apart(error.errors())]
        problems.sort(key=lambda each: nearest(positions, each[0].where))
        raise ConfigError("\n".join(_describe(path, positions, *each) for each in problems)) from error


def _apart(problems: Sequence[Any]) -> list[Any]:
    """Without lists that are too short for pydantic because one of their entries is wrong."""
    places = [problem["loc"] for problem in problems]
    return [
        problem
        for problem in problems
        if problem["type"] != "too_short"
        or not any(
            len(place) > len(problem["loc"]) and place[: len(problem["loc"])] == problem["loc"] for place in places
        )
    ]


def _own_metrics(document: Mapping[str, Any]) -> tuple[OwnMetric, ...]:
    """None where they are wrong, which the validation of the whole reports at its place."""
    try:
        return _OWN.validate_python(document.get("metrics", ()))
    except ValidationError:
        return ()


class _Wrong(NamedTuple):
    """Where it is in the file, what is wrong, and what stands there."""

    where: tuple[str | int, ...]
    message: str
    found: object


def _written(document: Mapping[str, Any], problem: Any) -> _Wrong:
    """As the file has it: pydantic's place has names of alternatives, too, and the stage of sections at the top."""
    where, message, found = _of_key(problem)
    if where[0] == "ingest" and where[1:2] and where[1] in OF_INGEST and where[1] in document:
        where = where[1:]
    inside: Any = document
    written: list[str | int] = []
    for part in where[:-1]:
        if isinstance(inside, dict) and part == inside.get("type") and part not in inside:
            continue
        written.append(part)
        try:
            inside = inside[part]
        except (KeyError, IndexError, TypeError):
            inside = None
    return _Wrong((*written, where[-1]), message, found)


def _of_key(problem: Any) -> _Wrong:
    """Checks of several keys name the wrong one in front of their message, and pydantic the place that these keys are
    in: an entry of a list, or the sections of ingest.
    """
    where, found = problem["loc"], problem["input"]
    message = problem["msg"].removeprefix("Value error, ")
    key, _, rest = message.partition(": ")
    is_entry = where == ("ingest",) or isinstance(where[-1], int)
    if problem["type"] == "value_error" and rest and is_entry and isinstance(found, dict) and key in found:
        return _Wrong((*where, key), rest, found[key])
    return _Wrong(where, message, found)


def _describe(path: Path | None, positions: Positions, wrong: _Wrong, problem: Any) -> str:
    text = _unknown(problem["loc"]) if problem["type"] == "extra_forbidden" else _expected(wrong, problem)
    return f"{_place(path, positions, wrong.where)}{_dotted(wrong.where)}: {text}"


def _unknown(where: tuple[str | int, ...]) -> str:
    meant = similar_key(Settings, where, OF_INGEST)
    return f"unknown key, did you mean {meant}?" if meant is not None else "unknown key"


def _place(path: Path | None, positions: Positions, where: tuple[str | int, ...]) -> str:
    """The environment variable that set it or what it is in, else the place in the file; nothing without either."""
    for length in range(len(where), 0, -1):
        variable = ENVIRONMENT_PREFIX + "__".join(map(str, where[:length])).upper()
        if variable in os.environ:
            return f"environment {variable}: "
    return f"{locate(path, positions, where)}: " if path else ""


def _dotted(where: tuple[str | int, ...]) -> str:
    return ".".join(map(str, where))


def _expected(wrong: _Wrong, problem: Any) -> str:
    """What was expected, and what was found."""
    kind, context = problem["type"], problem.get("ctx", {})
    text, found = _IN_WORDS.get(kind) or wrong.message, wrong.found
    if kind == "union_tag_invalid":
        text, found = f"type: expected one of {context['expected_tags']}", context["tag"]
    elif kind == "string_pattern_mismatch" and "https?://" in context["pattern"]:
        text = "expected an address that begins with http:// or https://"
    elif kind == "string_pattern_mismatch" and "[0-9a-fA-F:]" in context["pattern"]:
        host = "host, " if context["pattern"].endswith("?$") else ""  # the port may be left out
        text = f"expected {host}host:port or [IPv6]:port"
    elif (kind not in _IN_WORDS and isinstance(found, list | dict)) or text.endswith("is missing"):
        return text  # what they are says nothing about a rule that they break
    quoted = _quoted(wrong.where, found)
    return f"{text}, {quoted}" if quoted else text


def _quoted(where: tuple[str | int, ...], found: object) -> str:
    """What was found, where that is short and no secret; of lists and sections what they are."""
    if found is None:
        return "found nothing"
    if isinstance(found, list | dict):
        return "found a list" if isinstance(found, list) else "found keys with values"
    plain = isinstance(found, str | int | float) and _PLAIN.fullmatch(str(found))
    return f"found {found!r}" if plain and not _SECRET.search(_dotted(where)) else ""
