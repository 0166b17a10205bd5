"""From the value that an agent sends to a number, or to None."""

import base64
import binascii
import struct
from collections.abc import Mapping
from math import isfinite

import orjson

from telemetry.gnmi import gnmi_pb2

NO_VALUE = frozenset(
    {
        "",
        "n/a",
        "na",
        "[not supported]",
        "not supported",
        "none",
        "null",
        "-",
        "--",
        "nan",
        "unknown",
        "[n/a]",
        "empty",
        "auto",
    }
)
"""Words that mean "no sample" in place of a number, lower case."""

_FLOAT32 = struct.Struct(">f")


def number(value: object) -> float | None:
    """The number in a scalar of JSON or protobuf; None for anything else, never 0.

    YANG's ``ieeefloat32`` arrives as four bytes, in JSON as their base64.

    >>> number("42"), number("N/A"), number(True), number("0x8100"), number("QqAAAA==")
    (42.0, None, 1.0, None, 80.0)
    """
    if isinstance(value, float | int):
        result = float(value)
    elif isinstance(value, str):
        if len(value) == 8 and value.endswith("=="):
            return _float32(value)
        if "_" in value:  # float() reads 1_000
            return None
        try:
            result = float(value)
        except ValueError:
            return None
    elif isinstance(value, bytes) and len(value) == _FLOAT32.size:
        result = _FLOAT32.unpack(value)[0]
    else:
        return None
    return result if isfinite(result) else None


def state(value: object, states: Mapping[str, float]) -> float | None:
    """The value of a word in the catalogue; identities may come with their module: ``oc-eth:SPEED_100GB``."""
    if isinstance(value, str):
        known = states.get(value)
        return known if known is not None else states.get(value.rpartition(":")[2])
    return number(value)


def is_absent(value: object) -> bool:
    """Whether the agent reports that it has no value, as opposed to one that we cannot read."""
    return value is None or value == {} or (isinstance(value, str) and value.strip().lower() in NO_VALUE)


def scalar_of(value: gnmi_pb2.TypedValue) -> object:
    """A typed value as a Python scalar; bytes of JSON stay bytes. None for lists and for types that hold no number."""
    kind = value.WhichOneof("value")
    if kind == "decimal_val":
        return float(value.decimal_val.digits) / 10.0**value.decimal_val.precision
    if kind in (None, "leaflist_val", "any_val", "proto_bytes"):
        return None
    return getattr(value, kind)


def fast_number(value: object) -> float | None:
    """``number`` with a fast path for SONiC's usual values; the result may be infinite or NaN."""
    if type(value) is str and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    return number(value)


def scalar_of_update(update: gnmi_pb2.Update) -> object:
    """An update's value as JSON or Python scalar, from ``val`` or from the field of gNMI before 0.4."""
    if not update.HasField("val"):
        data: object = update.value.value
        is_json = update.value.type in (gnmi_pb2.JSON, gnmi_pb2.JSON_IETF)
        data = data if is_json or update.value.type == gnmi_pb2.BYTES else update.value.value.decode("utf-8", "replace")
    else:
        data = scalar_of(update.val)
        is_json = update.val.WhichOneof("value") in ("json_val", "json_ietf_val")
    if not is_json:
        return data
    try:
        return orjson.loads(data)  # type: ignore[arg-type]  # JSON is bytes
    except orjson.JSONDecodeError:
        return None


def _float32(text: str) -> float | None:
    try:
        result = _FLOAT32.unpack(base64.b64decode(text, validate=True))[0]
    except (binascii.Error, struct.error):
        return None
    return float(result) if isfinite(result) else None
