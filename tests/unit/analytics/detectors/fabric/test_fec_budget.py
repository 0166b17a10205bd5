"""Bit errors before FEC that grow: two samples that rose prove it, and the first may still be below the limit."""

from collections.abc import Sequence

import pytest

from telemetry.findings import Finding, FindingKind
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, judged, port_key

BER = port_key("fabric_port_bit_error_ratio", stage="pre_fec")
USUAL = [4e-9, 4.1e-9, 3.9e-9] * 10


def found(*then: float) -> Sequence[Finding]:
    """Where these values follow usual ones."""
    outputs = judged([BER], [[value] for value in (*USUAL, *then)])
    return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.LINK_ERRORS]


@pytest.mark.parametrize("rises", [(5e-8, 3e-6), (3e-6, 3e-6), (3e-6, 4e-9, 3e-6)])
def test_the_second_sample_that_rose_is_enough_once_it_is_near_the_limit(rises: Sequence[float]) -> None:
    first = found(*rises)[0]
    seqs = [round((at_ns - START_NS) / SECOND / INTERVAL_S) for at_ns in (first.onset_ns, first.observed_ns)]
    assert seqs == [len(USUAL), len(USUAL) + len(rises) - 1]
    assert first.evidence[0].normal == pytest.approx(4e-9, rel=0.05)


def test_far_beyond_the_limit_one_sample_is_enough() -> None:
    assert found(8e-3)


@pytest.mark.parametrize("rises", [(3e-6, 4e-9, 4e-9), (3e-6, *[4e-9] * 9, 3e-6), (3e-8, 3e-6), (5e-8, 6e-8, 7e-8)])
def test_one_sample_alone_or_a_rise_that_fec_repairs_is_none(rises: Sequence[float]) -> None:
    assert not found(*rises)
