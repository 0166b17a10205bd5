"""Exposition pages as templates: families and labels are written once, a scrape fills in numbers."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@dataclass(frozen=True, slots=True)
class Family:
    """One metric family of a page.

    kind: as the exporter declares it (``gauge``, ``counter``, ``untyped``), right or wrong.
    spec: how its values are written: ``%d``, ``%.6f``, or ``%s`` for Go's shortest form (``go_float``).
    rows: labels of each line, in the order of its values.
    """

    name: str
    kind: str
    help: str
    spec: str
    rows: Sequence[Mapping[str, str]]


class PageTemplate:
    """A page whose lines are fixed. Values come as one flat sequence, family after family, row after row."""

    def __init__(self, families: Iterable[Family]) -> None:
        families = list(families)
        self.families = families
        self._plain = "".join(_family_text(family, "") for family in families)
        self._stamped = "".join(_family_text(family, " {ms}") for family in families)
        self._go = [i for i, spec in enumerate(_specs(families)) if spec == "%s"]

    def render(self, values: Sequence[float], timestamp_ms: int | None = None) -> str:
        """The page; every line carries ``timestamp_ms`` when one is given."""
        cells: list[float | str] = list(values)
        for i in self._go:
            cells[i] = go_float(cells[i])  # type: ignore[arg-type]  # numbers until here
        if timestamp_ms is None:
            return self._plain % tuple(cells)
        return self._stamped.replace("{ms}", str(timestamp_ms)) % tuple(cells)


def _specs(families: Iterable[Family]) -> Iterator[str]:
    for family in families:
        for _ in family.rows:
            yield family.spec


def _family_text(family: Family, suffix: str) -> str:
    text = f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n".replace("%", "%%")
    for labels in family.rows:
        inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
        text += (f"{family.name}{{{inside}}}" if inside else family.name).replace("%", "%%")
        text += f" {family.spec}{suffix}\n"
    return text


def go_float(value: float) -> str:
    """As Go's ``strconv.FormatFloat(v, 'g', -1, 64)``, which node_exporter and its kin print.

    >>> go_float(61148.0), go_float(18527668.0), go_float(0.25), go_float(1e-7)
    ('61148', '1.8527668e+07', '0.25', '1e-07')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    text = repr(float(value))
    mantissa, _, power = text.partition("e")
    if power:
        return f"{mantissa.removesuffix('.0')}e{power}"
    whole, _, fraction = text.partition(".")
    digits = whole.lstrip("-")
    if len(digits) <= 6:
        return whole if fraction == "0" else text
    significant = (digits + fraction).rstrip("0")
    sign = "-" if value < 0 else ""
    point = "." if len(significant) > 1 else ""
    return f"{sign}{significant[0]}{point}{significant[1:]}e+{len(digits) - 1:02d}"
