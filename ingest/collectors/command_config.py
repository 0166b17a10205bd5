"""Where the output of a command comes from: a part of the settings of several collectors."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CommandConfig(BaseModel):
    """A command that is run every interval, or a file with its output that something else writes; one of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: tuple[str, ...] = Field((), description="Program and arguments; no shell.")
    file: Path | None = Field(None, description="With the same output, written by something else.")
    interval_s: float = Field(30.0, gt=0, description="How often it is run or read.")
    timeout_s: float = Field(10.0, gt=0, description="Deadline of one output, all of it.")
    body_bytes_max: int = Field(16 << 20, gt=0, description="Of one output.")

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if bool(self.command) == (self.file is not None):
            raise ValueError("give one of command and file")
        return self
