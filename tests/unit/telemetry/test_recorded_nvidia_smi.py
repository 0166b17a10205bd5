"""``nvidia-smi -q -x`` of a real H100: what it prints of the values that NVML reads at the same moment."""

from xml.etree import ElementTree

import polars as pl
import pytest

from tests.h100 import FOLDER, recording

IN_TRAINING_S = 1_795_410_191  # the page's timestamp, whole seconds


@pytest.fixture(scope="module")
def page() -> ElementTree.Element:
    gpu = ElementTree.parse(FOLDER / "nvidia-smi-train.xml").getroot().find("gpu")
    assert gpu is not None
    return gpu


@pytest.fixture(scope="module")
def beside() -> pl.DataFrame:
    """Two seconds of NVML around the page."""
    at_s = pl.col("time_ns") / 1e9
    return recording().filter(at_s.is_between(IN_TRAINING_S - 1.0, IN_TRAINING_S + 1.0))


def number(page: ElementTree.Element, path: str, unit: str) -> float:
    text = page.findtext(path) or ""
    value, printed = text.split()
    assert printed == unit
    return float(value)


def test_time_at_the_power_cap_is_in_microseconds(page: ElementTree.Element, beside: pl.DataFrame) -> None:
    found = number(page, "clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap", "us")
    assert found * 1e3 == pytest.approx(beside["sw_power_cap_ns"].to_numpy().mean(), abs=2e9)


@pytest.mark.parametrize(
    ("path", "unit", "column", "scale"),
    [
        ("gpu_power_readings/average_power_draw", "W", "power_usage_mw", 1e-3),
        ("gpu_power_readings/instant_power_draw", "W", "power_instant_mw", 1e-3),
        ("clocks/sm_clock", "MHz", "sm_clock_mhz", 1.0),
        ("temperature/gpu_temp", "C", "gpu_temp_c", 1.0),
        ("temperature/memory_temp", "C", "memory_temp_c", 1.0),
        ("utilization/gpu_util", "%", "util_gpu_pct", 1.0),
    ],
)
def test_values_are_those_of_nvml(
    page: ElementTree.Element, beside: pl.DataFrame, path: str, unit: str, column: str, scale: float
) -> None:
    values = beside[column].to_numpy() * scale
    assert values.min() - 1.0 <= number(page, path, unit) <= values.max() + 1.0


def test_used_memory_is_without_what_is_reserved(page: ElementTree.Element, beside: pl.DataFrame) -> None:
    used, reserved = (number(page, f"fb_memory_usage/{name}", "MiB") for name in ("used", "reserved"))
    assert (used + reserved) * 2**20 == pytest.approx(beside["mem_used_b"].to_numpy().mean(), rel=0.01)


def test_power_cap_is_the_only_reason(page: ElementTree.Element, beside: pl.DataFrame) -> None:
    reasons = page.find("clocks_event_reasons")
    assert reasons is not None
    active = [reason.tag for reason in reasons if reason.text == "Active"]
    assert active == ["clocks_event_reason_sw_power_cap"]
    assert set(beside["clocks_event_reasons"]) == {4}
