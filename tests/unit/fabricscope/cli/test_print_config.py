"""Settings models as a YAML file with comments."""

from enum import StrEnum
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, Field, SecretStr

from fabricscope.commands.print_config import _describe, meaning, models_in, settings_text
from fabricscope.settings import Settings


class Colour(StrEnum):
    RED = "red"


class Inner(BaseModel):
    port: int = Field(1, description="A port.")
    name: str


class Other(BaseModel):
    """Something else.

    At length.
    """

    size: int = 0


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
    chosen: Inner | Other | None = Field(None, description="One of two.")


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
#  name: # required
# One of two.
# chosen:
#  # A port.
#  port: 1
#  name: # required
#  # Or:
#  size: 0"""


def test_each_kind_of_field():
    assert "\n".join(_describe(Outer, 0)) == EXPECTED


def test_what_is_nested_is_indented():
    assert _describe(Inner, 2) == ["    # A port.", "    port: 1", "    name: # required"]


@pytest.mark.parametrize("key", [field.alias or name for name, field in Settings.model_fields.items()])
def test_every_section_of_the_settings_is_there(key):
    assert f"\n{key}:" in settings_text() or f"\n# {key}:" in settings_text()


def test_the_whole_is_yaml():
    assert yaml.safe_load(settings_text())["bus"]["kind"] == "embedded"


def models() -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    left: list[type[BaseModel]] = [Settings]
    while left:
        model = left.pop()
        inner = [each for entry in model.model_fields.values() for each in models_in(entry.annotation)]
        left += [each for each in inner if each not in found]
        found.add(model)
    return found


def name_of(model: type[BaseModel]) -> str:
    return f"{model.__module__}.{model.__name__}"


MODELS = sorted(models(), key=name_of)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_every_key_is_explained(model: type[BaseModel]) -> None:
    assert [name for name, entry in model.model_fields.items() if not meaning(entry)] == []


def test_a_section_is_explained_by_its_model() -> None:
    class Section(BaseModel):
        other: Other = Other()

    assert _describe(Section, 0)[:2] == ["# Something else.", "other:"]


def test_every_kind_of_receiver_is_shown() -> None:
    text = settings_text()
    assert "#  type: alertmanager" in text
    assert "#  # Or:" in text
    assert "#  type: webhook" in text
