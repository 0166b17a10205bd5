"""Keys as partitions, and what the choice of an engine loads."""

import subprocess
import sys

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from bus.partitions import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "expected"),
    [  # UtilsTest.testMurmur2 of Kafka's Java client, whose int is signed
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_kafkas(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected % 2**32


@given(st.binary(max_size=40), st.integers(1, 64))
def test_a_key_goes_where_every_kafka_client_puts_it(key: bytes, n: int) -> None:
    assert partition_of(key, n) == DefaultPartitioner()(key, list(range(n)), [])


OPEN_BOTH = """
import sys
from bus.config import BusConfig
from bus.open import open_bus
open_bus(BusConfig())
assert not any(name.startswith("aiokafka") for name in sys.modules), "the embedded bus loads it"
open_bus(BusConfig(kind="kafka"))
assert "aiokafka" in sys.modules
"""


def test_only_who_opens_the_kafka_bus_loads_its_client() -> None:
    subprocess.run([sys.executable, "-c", OPEN_BOTH], check=True)
