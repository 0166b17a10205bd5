"""Settings of the recorder."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class RecordingConfig(BaseModel):
    """One recording is one folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Field(description="Folder of the recording; made when missing, continued when it holds one.")
    slice_s: float = Field(60, gt=0, description="A slice is closed when it has been open for this long.")
    slice_samples_max: int = Field(2_000_000, gt=0, description="… or when it holds this many samples.")
