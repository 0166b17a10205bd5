"""Settings of the multivariate models."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

KindName = Literal["gpu", "host", "port", "storage_target"]


class MultivariateConfig(BaseModel):
    """Which kinds of devices have a model, and how it is trained. All times are event time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: tuple[KindName, ...] = Field(
        ("gpu", "storage_target"), description="Kinds of devices with a model; empty: switched off."
    )
    method: Literal["ellipse", "forest"] = Field(
        "ellipse", description="Mahalanobis distance (ellipse), or an isolation forest."
    )
    learn_s: float = Field(1800.0, gt=0, description="Healthy history that a kind must have before its first model.")
    train_every_s: float = Field(3600.0, gt=0, description="Time between two models of a kind.")
