"""Whether a stored block fits this program and its settings: pure comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import BaseModel

from analytics.snapshot.block import Block, Rule, SavedBlock
from analytics.snapshot.stateful import State
from telemetry import catalogue


class Cause(StrEnum):
    """Why a block begins again; a label of our own metrics."""

    SETTING = "setting"
    DEFINITION = "definition"
    FORMAT = "format"
    NEWER = "newer"
    ABSENT = "absent"


class Misfit(NamedTuple):
    """text: of the log, such as ``setting interval_s changed from 10.0 to 5.0``."""

    cause: Cause
    text: str


@dataclass(frozen=True)
class Changes:
    """Since the snapshot. settings: old and new value by path. metrics: names that are defined in another way now."""

    settings: Mapping[str, tuple[Any, Any]]
    metrics: frozenset[str]


def metric_definitions() -> dict[str, str]:
    """What the stored numbers of each metric's series mean, by its name."""
    known = catalogue.metrics().values()
    return {one.name: f"{one.kind} {one.unit} {one.width} {one.saturates}" for one in known}


def changes(saved_settings: Mapping[str, Any], saved_metrics: Mapping[str, str] | None, config: BaseModel) -> Changes:
    """saved_settings: JSON of the settings then; one that did not exist had what is its default today.

    saved_metrics: None where the snapshot does not say; they are taken for today's.
    """
    now, default = settings_of(config), settings_of(type(config)())
    then = {path: _at(saved_settings, path, default[path]) for path in now}
    today = metric_definitions()
    before = today if saved_metrics is None else saved_metrics
    names = before.keys() | today.keys()
    return Changes(
        {path: (then[path], value) for path, value in now.items() if then[path] != value},
        frozenset(name for name in names if before.get(name) != today.get(name)),
    )


def settings_of(config: BaseModel, prefix: str = "") -> dict[str, Any]:
    """JSON values by path; a mapping or list of one setting is one value."""
    found: dict[str, Any] = {}
    values = config.model_dump(mode="json")
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            found |= settings_of(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = values[name]
    return found


def _at(settings: Mapping[str, Any], path: str, default: Any) -> Any:
    for name in path.split("."):
        if not isinstance(settings, Mapping) or name not in settings:
            return default
        settings = settings[name]
    return settings


def migrated(rule: Rule, saved: SavedBlock) -> State | None:
    """The state in the format of today; None where no migration leads there."""
    state, number = saved.state, saved.format
    while number != rule.format:
        step = rule.migrations.get(number)
        if step is None:
            return None
        state, number = step(state), number + 1
    return state


def fitted(block: Block, saved: SavedBlock | None, since: Changes) -> State | Misfit:
    """The state that the block goes on from, or why it begins again."""
    rule = block.rule
    if saved is None:
        return Misfit(Cause.ABSENT, "the snapshot has none")
    if saved.format > rule.format:
        return Misfit(
            Cause.NEWER,
            f"written in format {saved.format}, this version reads {rule.format}: to keep it, stop before the next"
            " snapshot and start the newer version again",
        )
    state = migrated(rule, saved)
    if state is None:
        return Misfit(Cause.FORMAT, f"written in format {saved.format}, this version reads {rule.format}")
    changed = [f"setting {path} changed from {old} to {new}" for path, (old, new) in _changed(rule, since)]
    if changed:
        return Misfit(Cause.SETTING, ", ".join(changed))
    other = sorted(since.metrics.intersection(rule.metrics))
    if other:
        return Misfit(Cause.DEFINITION, f"defined in another way: {', '.join(other)}")
    if saved.definition is not None and saved.definition != rule.definition:
        return Misfit(Cause.DEFINITION, "its rows or columns are defined in another way")
    columns = _other_columns(block.part.state(), state)
    return Misfit(Cause.DEFINITION, f"other columns: {columns}") if columns else state


def _changed(rule: Rule, since: Changes) -> list[tuple[str, tuple[Any, Any]]]:
    return [(path, since.settings[path]) for path in rule.settings if path in since.settings]


def _other_columns(empty: State, saved: State) -> str:
    """Names of arrays that a new engine has and the snapshot has not, or of another type or width."""
    return ", ".join(
        name
        for name, array in empty.arrays.items()
        if name not in saved.arrays
        or saved.arrays[name].dtype != array.dtype
        or saved.arrays[name].shape[1:] != array.shape[1:]
    )
