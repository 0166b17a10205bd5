"""Switch ASICs: how much packet buffer they have, and from which height of one queue on they pause its senders.

The data are in ``asics.yaml``, each number with its public source.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml
from pydantic import ConfigDict, TypeAdapter

# The least that SONiC sets for a switch whose buffer is on the chip (dynamic_th -3, DellEMC-Z9264f); others have up to
# 1 (NVIDIA, Arista-7060X6). With 1, each of eight priority groups that fill at once gets what one alone gets with 1/8.
# Assumption: no site sets less.
ALPHA = 1 / 8


@dataclass(frozen=True, slots=True)
class Asic:
    """buffer_bytes, memories, alpha, source: see ``asics.yaml``."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    buffer_bytes: int
    source: str
    memories: int = 1
    alpha: float = ALPHA

    @property
    def pause_bytes(self) -> float:
        """The height of a queue at which it pauses, when no other one is filled.

        A queue may have alpha times what is free of its memory B, so it stops at q = alpha (B - q), which is
        B alpha / (1 + alpha). Source: Choudhury and Hahne (1998), Dynamic Queue Length Thresholds for Shared-Memory
        Packet Switches, IEEE/ACM Transactions on Networking 6(2).
        """
        return self.buffer_bytes / self.memories * self.alpha / (1.0 + self.alpha)


@cache
def asics() -> Mapping[str, Asic]:
    """All of them by name."""
    data = yaml.load(files("telemetry").joinpath("asics.yaml").read_bytes(), yaml.CSafeLoader)
    return TypeAdapter(dict[str, Asic]).validate_python(data)


def asic_name(text: str) -> str:
    """The name in the table of what people write. ValueError for an unknown one.

    >>> asic_name("spectrum 4"), asic_name("Tomahawk5")
    ('Spectrum-4', 'Tomahawk 5')
    """
    wanted = _letters(text)
    for name in asics():
        if _letters(name) == wanted:
            return name
    raise ValueError(f"{text}: expected one of {', '.join(asics())}")


def _letters(text: str) -> str:
    return text.lower().replace(" ", "").replace("-", "")
