"""Numbers that stand for no value: sentinels, what cannot be, and counters that have reached their end."""

import pytest

from ingest.ledger import DropReason
from tests.unit.ingest.exposition.mapped import canonical, dropped

SENTINELS = (
    "2147483632",
    "2147483635",
    "140737488355328",
    "140737488355331",
    "9223372036854775792",
    "9223372036854775795",
)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("value", [*SENTINELS, "NaN"])
@pytest.mark.parametrize("name", ["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"])
def test_both_ends_of_each_range_of_sentinels_are_no_sample(name: str, value: str, compiled: bool) -> None:
    body = f'{name}{{UUID="G"}} {value}\n'
    assert canonical("dcgm", body, compiled) == {}
    assert dropped("dcgm", body, compiled) == {DropReason.NO_VALUE: 1}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("value", [2147483631, 2147483636, 140737488355327, 140737488355332])
def test_the_numbers_beside_the_sentinels_are_samples(value: int, compiled: bool) -> None:
    found = canonical("dcgm", f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{UUID="G"}} {value}\n', compiled)
    assert list(found.values()) == [float(value)]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "sample",
    [
        'DCGM_FI_DEV_MEM_COPY_UTIL{UUID="G"} 101',
        'DCGM_FI_PROF_DRAM_ACTIVE{UUID="G"} 1.01',
        'DCGM_FI_DEV_MEMORY_TEMP{UUID="G"} 0',  # it has no sensor
        'DCGM_FI_DEV_MEMORY_TEMP{UUID="G"} 345',  # what DCGM 3.3.5 to 3.4.0 sent
        'DCGM_FI_DEV_MEMORY_TEMP{UUID="G"} 82505',
        'DCGM_FI_DEV_MEMORY_TEMP{UUID="G"} 644245923',
    ],
)
def test_impossible_values_are_no_sample(sample: str, compiled: bool) -> None:
    assert canonical("dcgm", sample + "\n", compiled) == {}
    assert dropped("dcgm", sample + "\n", compiled) == {DropReason.OUT_OF_BOUNDS: 1}


@pytest.mark.parametrize("value", ["345", "82505", "644245923", "-21"])
def test_impossible_temperatures_still_describe_a_gpu(value: str) -> None:
    body = f'DCGM_FI_DEV_GPU_TEMP{{UUID="G"}} {value}\n'
    assert canonical("dcgm", body) == {'gpu_info{device="node1",gpu="G"}': 1.0}
    assert dropped("dcgm", body) == {DropReason.OUT_OF_BOUNDS: 1}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("name", "maximum"),
    [
        ("symbol_error", 2**16 - 1),
        ("link_downed", 2**8 - 1),
        ("local_link_integrity_errors", 2**4 - 1),
        ("port_transmit_wait", 2**32 - 1),
    ],
)
def test_a_saturated_counter_is_no_sample(name: str, maximum: int, compiled: bool) -> None:
    """InfiniBand's legacy counters stay there; a wider one of the same name goes on."""
    line = f'node_infiniband_{name}_total{{device="mlx5_0",port="1"}} '
    assert list(canonical("node_exporter", f"{line}{maximum - 1}\n", compiled).values()) == [maximum - 1]
    assert canonical("node_exporter", f"{line}{maximum}\n", compiled) == {}
    assert dropped("node_exporter", f"{line}{maximum}\n", compiled) == {DropReason.OUT_OF_BOUNDS: 1}
    assert list(canonical("node_exporter", f"{line}{maximum + 1}\n", compiled).values()) == [maximum + 1]
