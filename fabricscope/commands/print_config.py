"""A settings file with every key, its default and its meaning, made from the settings models."""

from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fabricscope.settings import Settings


def settings_text() -> str:
    """All settings as YAML."""
    return "\n".join(
        ["# Settings of Fabricscope: every key with its default. Keep what you change.", *_describe(Settings, 0)]
    )


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models of a field: several where one is chosen, as by the type of a receiver."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def meaning(entry: FieldInfo) -> str:
    """In one line; of a section that says nothing itself that of its model."""
    if entry.description or not (models := models_in(entry.annotation)):
        return entry.description or ""
    return (models[0].__doc__ or "").strip().partition("\n")[0].replace("``", "`")


def _describe(model: type[BaseModel], depth: int) -> list[str]:
    lines = []
    for name, entry in model.model_fields.items():
        inside = models_in(entry.annotation)
        key = entry.alias or name
        indent = "  " * depth
        if text := meaning(entry):
            lines.append(f"{indent}# {text}")
        if not inside:
            lines.append(f"{indent}{key}: {_value(entry.get_default(call_default_factory=True))}")
        elif isinstance(entry.default, BaseModel):
            lines += [f"{indent}{key}:", *_describe(inside[0], depth + 1)]
        else:  # optional, or a list: shown as an example that is commented out
            lines.append(f"{indent}# {key}:")
            for number, each in enumerate(inside):
                lines += [f"{indent}#  # Or:"] * bool(number)
                lines += [f"{indent}#{line[len(indent) :]}" for line in _describe(each, depth + 1)]
    return lines


def _value(default: Any) -> str:
    if default is PydanticUndefined:
        return "# required"
    plain = list(default) if isinstance(default, tuple | frozenset) else default
    if not isinstance(plain, bool | int | float | dict | list | None):
        plain = str(plain)
    return yaml.safe_dump(plain, default_flow_style=True, width=1000).removesuffix("\n...\n").strip()
