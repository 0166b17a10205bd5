"""From the JSON of ``nvme smart-log`` to values of one drive. Pure.

Fields: NVM Express Base Specification, *SMART / Health Information*; names: nvme-print-json.c of nvme-cli. Numbers of
128 bits are floats or texts in older releases; with --verbose critical_warning is an object that has its value.
"""

import math
from typing import Any

import orjson

from common.errors import BadInput
from ingest.collectors.canonical_samples import Values

_KELVIN = 273  # what nvme-cli itself takes off: the log has whole kelvins
_SENSOR = "temperature_sensor_"


def add_drive(values: Values, drive: str, body: bytes) -> None:
    """Adds what the log says. BadInput where it is none."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{drive}: smart-log of {len(body)} bytes: {error}", "bad_format") from error
    if not isinstance(document, dict) or "critical_warning" not in document:
        raise BadInput(f"{drive}: expected the JSON of nvme smart-log", "bad_format")
    for name, found in document.items():
        number = _number(found.get("value") if isinstance(found, dict) else found)
        if name == "temperature":
            values.add("temperature", number - _KELVIN, drive=drive, sensor="")
        elif name.startswith(_SENSOR):
            values.add("temperature", number - _KELVIN, drive=drive, sensor=name.removeprefix(_SENSOR))
        else:
            values.add(name, number, drive=drive)


def _number(found: Any) -> float:
    """NaN for what is none."""
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return math.nan
    try:
        number = float(found)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
