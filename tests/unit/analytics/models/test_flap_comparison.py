"""What counts as another error ratio or another light after a flap, and how it reads."""

import pytest

from analytics.models.flap_comparison import Before, FlapComparison, Verdict, compare
from telemetry.objects import port

PORT = port("leaf1", "Ethernet0")


def ber(before: float, *after: float, deviation: float = 0.0) -> Before:
    return Before("pre-FEC BER", "", before, deviation or before / 10, after=list(after))


def light(before: float, *after: float, what: str = "rx power", deviation: float = 0.05) -> Before:
    return Before(what, "dBm", before, deviation, after=list(after))


def crc(before: float, after: float) -> Before:
    return Before("CRC errors", "/s", before, before / 10, traffic=True, after=[after] * 9)


def result(*series: Before) -> tuple[str, str]:
    found = compare(PORT, 7, series)
    assert found is not None
    return found.verdict, found.changes


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([ber(1e-9, 1e-6, 1.1e-6, 9e-7)], ("worse", "pre-FEC BER 1e-9 to 1e-6")),
        ([ber(1e-6, 1e-9, 1e-9, 1e-9)], ("better", "pre-FEC BER 1e-6 to 1e-9")),
        ([ber(1e-9, 2e-9, 2e-9, 2e-9)], ("as before", "")),  # less than half a decade
        ([ber(1e-9, 1e-9, 1e-6, 1e-9)], ("as before", "")),  # one value is no level
        ([ber(1e-9, 4e-9, 4e-9, 4e-9, deviation=1e-9)], ("as before", "")),  # within its own spread, of three values
        ([ber(1e-9, *[4e-9] * 30, deviation=1e-9)], ("worse", "pre-FEC BER 1e-9 to 4e-9")),  # of thirty it is not
        ([ber(0.0, 0.0, 0.0, 0.0)], ("as before", "")),
        ([light(-2.0, -5.0, -5.1, -5.0)], ("worse", "rx power -2 to -5 dBm")),
        ([light(-2.0, -2.7, -2.7, -2.7)], ("as before", "")),  # a connector that was put in again
        ([light(-2.0, -4.0, -4.0, -4.0, deviation=0.8)], ("as before", "")),
        ([light(-2.0, -3.0, -3.0, -3.0), light(-2.0, -6.0, -6.0, -6.0)], ("worse", "rx power -2 to -6 dBm")),
        ([crc(0.0, 4.0)], ("worse", "CRC errors 0 to 4 /s")),
        ([crc(4.0, 0.0)], ("as before", "")),  # a job may have ended
        (
            [light(-6.0, -2.0, -2.0, -2.0), ber(1e-9, 1e-6, 1e-6, 1e-6)],
            ("better and worse", "pre-FEC BER 1e-9 to 1e-6, rx power -6 to -2 dBm"),
        ),
    ],
)
def test_what_a_flap_changed(series: list[Before], expected: tuple[str, str]) -> None:
    assert result(*series) == expected


def test_two_values_say_nothing() -> None:
    assert compare(PORT, 7, [ber(1e-9, 1e-3, 1e-3)]) is None
    known = compare(PORT, 7, [ber(1e-9, 1e-3, 1e-3), light(-2.0, -2.0, -2.0, -2.0)])
    assert known == FlapComparison(PORT, 7, Verdict.AS_BEFORE)
