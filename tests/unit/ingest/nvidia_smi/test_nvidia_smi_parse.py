"""Real documents of nvidia-smi, and those that are none."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.canonical_samples import CanonicalSamples, TargetSamples, Values
from ingest.collectors.nvidia_smi.parse import parse_gpus
from ingest.ledger import DropReason
from tests.h100 import FOLDER
from tests.samples import SAMPLES

A100 = "GPU-513536b6-7d19-9063-b049-1e69664bb298"
A10G = "GPU-9a9a6c50-2a47-2f51-a902-b82c3b127e94"
H100 = "GPU-00000000-0000-4000-8000-000000000001"
PAGES = {
    A100: SAMPLES / "gpu_nvml" / "nvidia-smi_a100-sxm4-v12.xml",
    A10G: SAMPLES / "gpu_nvml" / "nvidia-smi_a10g.xml",
    H100: FOLDER / "nvidia-smi-train.xml",
}


def read(body: bytes) -> CanonicalSamples:
    return TargetSamples("nvidia-smi/node1", "node1", "nvidia_smi", 0).read(Values.of(parse_gpus(body)))


@pytest.mark.parametrize(
    ("gpu", "series", "value"),
    [
        (A100, "gpu_power_watts", 67.03),
        (A100, 'gpu_power_limit_setting_watts|kind="minimum"', 100.0),
        (A100, "gpu_mig_enabled", 1.0),
        (A100, "gpu_memory_used_bytes", 50 * 2.0**20),
        (A100, 'gpu_memory_used_bytes|instance_id="3"', 12 * 2.0**20),
        (A100, 'gpu_throttle_active|reason="sw_power_cap"', 0.0),
        (A100, 'gpu_temperature_limit_celsius|kind="slowdown"', 89.0),
        (A10G, "gpu_power_watts", 25.58),
        (A10G, "gpu_power_limit_watts", 300.0),
        (A10G, 'gpu_throttle_active|reason="idle"', 1.0),
        (A10G, 'gpu_remapped_rows_total|cause="correctable"', 0.0),
        (H100, "gpu_power_watts", 689.54),
        (H100, "gpu_power_instant_watts", 683.22),
        (H100, "gpu_sm_clock_hertz", 1590e6),
        (H100, "gpu_utilization_ratio", 1.0),
        (H100, 'gpu_throttle_seconds_total|reason="sw_power_cap"', 20.797605),
        (H100, 'gpu_throttle_active|reason="sw_power_cap"', 1.0),
        (H100, 'gpu_pcie_bytes_per_second|direction="rx"', 35309e3),
        (H100, "gpu_pcie_lanes", 16.0),
        (H100, 'gpu_ecc_errors_total|persistence="volatile",severity="uncorrectable"', 0.0),
        (H100, 'gpu_remap_banks|kind="max"', 2560.0),
    ],
)
def test_real_values(gpu: str, series: str, value: float) -> None:
    metric, _, labels = series.partition("|")
    inside = ",".join(sorted(filter(None, ('device="node1"', f'gpu="{gpu}"', *labels.split(",")))))
    assert read(PAGES[gpu].read_bytes()).by_series()[f"{metric}{{{inside}}}"] == pytest.approx(value)


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.stem)
def test_all_of_a_real_document_is_mapped_or_left_out_for_a_reason(page: Path) -> None:
    found = read(page.read_bytes())
    assert found.layout.unmapped == 0
    assert set(found.taken.dropped) == {DropReason.NO_VALUE}
    assert found.taken.values.size >= 60


def test_the_identity_of_a_gpu() -> None:
    expected = {"driver": "580.159.04", "gpu": H100, "index": "0", "model": "NVIDIA H100 80GB HBM3"}
    (info,) = (key for key in read(PAGES[H100].read_bytes()).by_series() if key.startswith("gpu_info{"))
    assert all(f'{label}="{value}"' in info for label, value in expected.items())


GPU = "<nvidia_smi_log><gpu><uuid>G</uuid>{}</gpu></nvidia_smi_log>"
ECC = (
    "<ecc_errors><volatile><sram_correctable>{}</sram_correctable><dram_correctable>{}</dram_correctable>"
    "</volatile></ecc_errors>"
)


@pytest.mark.parametrize(
    ("inside", "values", "dropped"),
    [
        ("<temperature><gpu_temp>44 C</gpu_temp></temperature>", [44.0], 0),
        ("<temperature><gpu_temp>N/A</gpu_temp></temperature>", [], 1),
        ("<temperature><gpu_temp>[Not Supported]</gpu_temp></temperature>", [], 1),
        ("<temperature><gpu_temp>44 F</gpu_temp></temperature>", [], 0),
        ("<temperature><gpu_temp>nan C</gpu_temp></temperature>", [], 0),
        ("<temperature><gpu_temp>345 C</gpu_temp></temperature>", [], 1),
        ("<power_readings><power_draw>0.07 kW</power_draw></power_readings>", [], 0),
        (ECC.format(3, 4), [7.0], 0),
        (ECC.format(3, "N/A"), [], 1),
    ],
)
def test_texts_become_values_or_none(inside: str, values: list[float], dropped: int) -> None:
    found = read(GPU.format(inside).encode())
    numbers = [value for key, value in found.by_series().items() if not key.startswith(("gpu_info", "device_software"))]
    assert (numbers, sum(found.taken.dropped.values())) == (values, dropped)


def test_two_gpus_of_one_name_are_one() -> None:
    once = "<gpu><uuid>G</uuid><temperature><gpu_temp>{} C</gpu_temp></temperature></gpu>"
    found = read(f"<nvidia_smi_log>{once.format(40)}{once.format(50)}</nvidia_smi_log>".encode())
    assert 40.0 in found.taken.values
    assert sum(found.taken.dropped.values()) == 0


LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&b;</nvidia_smi_log>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "no element found"),
        ("Unable to determine the device handle for GPU0000:9B:00.0: GPU is lost", "syntax error"),
        ("<html></html>", "expected <nvidia_smi_log>"),
        ("<nvidia_smi_log><gpu>", "no element found"),
        (LAUGHS, "defines entities"),
        (OUTSIDE, "defines entities"),
        ("<nvidia_smi_log>" + "<a>" * 40, "levels"),
        ("<nvidia_smi_log>" + "<a/>" * 200_001, "elements"),
        ('<?xml version="1.0" encoding="utf-99"?><nvidia_smi_log/>', "encoding"),
    ],
)
def test_what_is_no_such_document_is_refused(body: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_gpus(body.encode())


@given(st.binary(max_size=300) | st.text(max_size=100).map(lambda text: GPU.format(text).encode()))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(BadInput):
        read(body)
