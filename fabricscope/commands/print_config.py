"""A settings file with every key, its default and its meaning, made from the settings models."""

from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from fabricscope.settings import Settings


def settings_text() -> str:
    """All settings as YAML."""
    return "\n".join(
        ["# Settings of Fabricscope: every key with its default. Keep what you change.", *_describe(Settings, 0)]
    )


def _describe(model: type[BaseModel], depth: int) -> list[str]:
    lines = []
    for name, entry in model.model_fields.items():
        inside = _model_in(entry.annotation)
        key = entry.alias or name
        indent = "  " * depth
        if entry.description:
            lines.append(f"{indent}# {entry.description}")
        if inside is None:
            lines.append(f"{indent}{key}: {_value(entry.get_default(call_default_factory=True))}")
        elif isinstance(entry.default, BaseModel):
            lines += [f"{indent}{key}:", *_describe(inside, depth + 1)]
        else:  # optional, or a list: shown as an example that is commented out
            lines += [
                f"{indent}# {key}:",
                *(f"{indent}#{line[len(indent) :]}" for line in _describe(inside, depth + 1)),
            ]
    return lines


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)


def _value(default: Any) -> str:
    if default is PydanticUndefined:
        return "# required"
    plain = list(default) if isinstance(default, tuple | frozenset) else default
    if not isinstance(plain, bool | int | float | dict | list | None):
        plain = str(plain)
    return yaml.safe_dump(plain, default_flow_style=True, width=1000).removesuffix("\n...\n").strip()
