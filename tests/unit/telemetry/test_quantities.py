"""Values as people read them; a test of the NOC page reads the same table."""

import math

import pytest

from telemetry.catalogue import metrics
from telemetry.quantities import quantity

READ = [
    (1.089e9, "hertz", "1.09 GHz"),
    (0.61, "ratio at most", "61 % at most"),
    (0.0005, "ratio", "0.05 %"),
    (2.4e-5, "ratio", "2.4e-5"),
    (0.0, "ratio", "0 %"),
    (0.0123, "seconds", "12.3 ms"),
    (83.0, "seconds without a sample", "83 s without a sample"),
    (3600.0, "seconds", "60 min"),
    (3e-9, "seconds", "3e-9 s"),
    (0.0, "bytes", "0 B"),
    (999.9e6, "bytes/s", "1 GB/s"),
    (999.6, "watts", "1 kW"),
    (-2.3, "dbm", "-2.3 dBm"),
    (71.26, "celsius", "71.3 °C"),
    (0.0, "bool", "no"),
    (1.0, "bool", "yes"),
    (79.0, "XID", "XID 79"),
    (1.0, "frames", "1 frame"),
    (1.0, "frames/s", "1 frame/s"),
    (12345.6, "frames/s", "12,346 frames/s"),
    (5.0, "errors in an hour", "5 errors in an hour"),
    (1.0, "processes", "1 process"),
    (123_456_789.0, "errors", "123,000,000 errors"),
    (2.5e9, "packets", "2.5e9 packets"),
    (1.0, "none", "1"),
    (-1234.0, "joules", "-1.23 kJ"),
]


@pytest.mark.parametrize(("value", "unit", "text"), READ)
def test_three_digits_and_the_unit(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_unknown(value: float) -> None:
    assert quantity(value, "hertz") == "unknown"


def test_no_unit_of_the_catalogue_is_read_as_a_power_of_ten_or_a_word_of_the_exporter() -> None:
    for unit in {metric.unit for metric in metrics().values()}:
        assert not {"bool", "ratio", "hertz", "none"} & set(quantity(1500.0, unit).split()), unit
