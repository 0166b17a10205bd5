"""The program: command line, settings, HTTP API, and wiring of stages into processes; ``Detector`` for notebooks."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analytics.offline.api import Detector

__all__ = ["Detector"]


def __getattr__(name: str) -> Any:
    """Loads ``Detector`` on first use: the engine costs a second that not every command should wait for."""
    if name != "Detector":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analytics.offline.api import Detector

    return Detector
