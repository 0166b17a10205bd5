"""Settings models as a YAML file with comments."""

from enum import StrEnum
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, Field, SecretStr

from fabricscope.commands.print_config import _describe, settings_text
from fabricscope.settings import Settings


class Colour(StrEnum):
    RED = "red"


class Inner(BaseModel):
    port: int = Field(1, description="A port.")
    name: str


class Outer(BaseModel):
    """One field of each kind."""

    general: Inner = Field(Inner(name="x"), alias="global", description="Shared.")
    path: Path = Path("data/x")
    colour: Colour = Colour.RED
    nothing: int | None = None
    numbers: tuple[int, ...] = (1, 2)
    limits: dict[str, float] = Field(default={"a": 0.5}, description="Limits.")
    tags: list[str] = Field(default_factory=list)
    text: str = "yes"  # quoted, or YAML would read a truth value
    secret: SecretStr = SecretStr("hidden")
    required: float = Field(gt=0)
    optional: Inner | None = Field(None, description="Perhaps.")
    several: tuple[Inner, ...] = ()


EXPECTED = """\
# Shared.
global:
  # A port.
  port: 1
  name: # required
path: data/x
colour: red
nothing: null
numbers: [1, 2]
# Limits.
limits: {a: 0.5}
tags: []
text: 'yes'
secret: '**********'
required: # required
# Perhaps.
# optional:
#  # A port.
#  port: 1
#  name: # required
# several:
#  # A port.
#  port: 1
#  name: # required"""


def test_each_kind_of_field():
    assert "\n".join(_describe(Outer, 0)) == EXPECTED


def test_what_is_nested_is_indented():
    assert _describe(Inner, 2) == ["    # A port.", "    port: 1", "    name: # required"]


@pytest.mark.parametrize("key", [field.alias or name for name, field in Settings.model_fields.items()])
def test_every_section_of_the_settings_is_there(key):
    assert f"\n{key}:" in settings_text() or f"\n# {key}:" in settings_text()


def test_the_whole_is_yaml():
    assert yaml.safe_load(settings_text())["bus"]["kind"] == "embedded"
