"""The API over a real bus, as its own tests have it."""

from tests.unit.fabricscope.conftest import api, state_dir

__all__ = ["api", "state_dir"]
