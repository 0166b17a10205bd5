"""A page as fields: what is written beside how it is read from the cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.counters.readings import Readings
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.pages.template import Family, PageTemplate

Read = Callable[[Readings], NDArray[np.generic]]
"""The values of a field's rows, in their order, in the exporter's unit."""


@dataclass(frozen=True, slots=True)
class Field:
    """One family and where its values come from."""

    family: Family
    read: Read


class FieldPage:
    """Renders fields against readings, without those that the exporter omits.

    Layout is fixed, so the text around the numbers is built once.
    """

    def __init__(self, fields: Sequence[Field], omits: Omits = omits_nothing) -> None:
        fields = [field for field in fields if not omits(field.family.name)]
        self._reads = [field.read for field in fields]
        self._template = PageTemplate(field.family for field in fields)

    def render(self, readings: Readings, timestamp_ms: int | None = None) -> str:
        """The page's text. timestamp_ms: written behind each value; None for none."""
        values: list[float] = []
        for read in self._reads:
            values += np.ravel(read(readings)).tolist()
        return self._template.render(values, timestamp_ms)


def field(name: str, kind: str, text: str, spec: str, rows: Sequence[Mapping[str, str]], read: Read) -> Field:
    """A family whose values ``read`` takes from the readings, one a row. spec: how a value is formatted."""
    return Field(Family(name, kind, text, spec, tuple(rows)), read)
