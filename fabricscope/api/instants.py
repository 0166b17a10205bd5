"""Times as the API writes and reads them: RFC 3339 in UTC, exact to the nanosecond. The bus keeps whole nanoseconds."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from common.units import NS_PER_MS, NS_PER_S, NS_PER_US

RFC_3339 = re.compile(
    r"(?P<whole>\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?(?P<zone>[Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_SECONDS = re.compile(r"-?\d{1,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_SECONDS_MAX = 253_402_300_799  # the last one of the year 9999, the end of RFC 3339
_DIGITS = ((NS_PER_S, 0), (NS_PER_MS, 3), (NS_PER_US, 6), (1, 9))
EXAMPLE = "2026-01-31T22:00:00.250Z"


def rfc3339(time_ns: int) -> str:
    """Of nanoseconds since the Unix epoch, with as many digits as it takes: 0, 3, 6 or 9.

    >>> rfc3339(1_700_000_000_250_000_000), rfc3339(1_700_000_000_000_000_001)
    ('2023-11-14T22:13:20.250Z', '2023-11-14T22:13:20.000000001Z')
    """
    seconds, fraction = divmod(time_ns, NS_PER_S)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    digits = next(digits for factor, digits in _DIGITS if fraction % factor == 0)
    return f"{whole}.{fraction:09d}"[: len(whole) + (digits and digits + 1)] + "Z"


def rfc3339_ns(text: str) -> int:
    """Nanoseconds since the Unix epoch; digits behind the ninth are cut off. ValueError for anything else.

    >>> rfc3339_ns("1970-01-01T01:00:00.000000001+01:00")
    1
    """
    found = RFC_3339.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a time as in RFC 3339, {EXAMPLE}")
    zone = found["zone"].upper().replace("Z", "+00:00")
    seconds = (datetime.fromisoformat(found["whole"].upper() + zone) - _EPOCH) // _SECOND
    return seconds * NS_PER_S + int((found["fraction"] or "")[:9].ljust(9, "0"))


def _written(value: object) -> object:
    return rfc3339(value) if isinstance(value, int) else value


def _written_unless_0(value: object) -> object:
    return None if value == 0 else _written(value)


def _asked(value: object) -> int:
    text = str(value)
    if _SECONDS.fullmatch(text) and 0 <= (seconds := Decimal(text)) <= _SECONDS_MAX:
        return int(seconds * NS_PER_S)
    try:
        return rfc3339_ns(text)
    except ValueError:
        raise ValueError(f"expected a time as in RFC 3339, {EXAMPLE}, or seconds since the Unix epoch") from None


_Text = Annotated[str, Field(json_schema_extra={"format": "date-time", "examples": [EXAMPLE]})]
Instant = Annotated[_Text, BeforeValidator(_written)]
"""Of an answer. Made of nanoseconds."""
MaybeInstant = Annotated[_Text | None, BeforeValidator(_written_unless_0)]
"""Of what may not have happened yet, or is not known: 0 in records, null in answers."""
AskedInstant = Annotated[
    int,
    BeforeValidator(_asked),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "format": "date-time"},
                {"type": "number", "minimum": 0, "maximum": _SECONDS_MAX},
            ],
            "examples": [EXAMPLE, 1769896800.25],
        }
    ),
]
"""Of a query, as nanoseconds: RFC 3339, or seconds since the Unix epoch, as Prometheus takes them."""
