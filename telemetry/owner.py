"""Which process publishes or sends the outputs of a stage."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from telemetry.objects import Count, Name

EPOCH_MAX = 2**63 - 1
Epoch = Annotated[int, Ge(0), Le(EPOCH_MAX)]


@dataclass(frozen=True, slots=True)
class Owner:
    """One process announces that it owns the outputs of a role from now on; replaces the announcement before.

    digest: of where the outputs go; processes of a stage with another one are not concerned. '' where all are.
    epoch: larger than that of every owner before it on this bus. Not a time, whatever it looks like.
    token: random, of this process alone: hosts may have the same name, and processes the same number.
    """

    stage: Name
    epoch: Epoch
    host: str
    pid: Count
    token: Name
    digest: str = ""
