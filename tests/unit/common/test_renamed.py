"""Keys of settings that were renamed."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from structlog.testing import capture_logs

from common.renamed import accept_renamed


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    interval_s: float = 1.0
    size: int = 2

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed(cls, settings: Any) -> Any:
        return accept_renamed(settings, {"upkeep_s": "interval_s"})


def test_the_old_key_works_with_a_hint():
    with capture_logs() as logs:
        assert Config.model_validate({"upkeep_s": 7, "size": 3}) == Config(interval_s=7, size=3)
    assert [(each["log_level"], each["key"], each["instead"]) for each in logs] == [
        ("warning", "upkeep_s", "interval_s")
    ]


def test_the_new_key_is_quiet():
    with capture_logs() as logs:
        assert Config.model_validate({"interval_s": 7}).interval_s == 7
    assert logs == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upkeep_s": 1, "interval_s": 1}, "upkeep_s is called interval_s now: give the new key alone"),
        ({"upkeep_s": "often"}, "interval_s\n  Input should be a valid number"),
        ({"upkeeps": 1}, "upkeeps\n  Extra inputs"),
        ([], "valid dictionary"),
    ],
)
def test_everything_else_is_refused_as_before(settings: object, message: str):
    with pytest.raises(ValidationError, match=message):
        Config.model_validate(settings)
