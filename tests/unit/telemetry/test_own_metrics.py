"""Metrics of the user's own: what is accepted, what is refused, and who knows them."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from telemetry.catalogue import Kind, Metric, Origin, OwnMetric, define, defined, metrics, origins_of

TTFT: dict[str, Any] = {
    "name": "serving_first_token_seconds",
    "kind": "gauge",
    "unit": "seconds",
    "labels": ["model"],
    "help": "Time to the first token.",
    "origins": [{"source": "vllm", "name": "vllm_ttft_ms", "scale": 0.001, "labels": {"model": "{model_name}"}}],
}


@pytest.fixture(autouse=True)
def _no_own_metrics() -> Iterator[None]:
    yield
    define(())


def own(**changed: Any) -> OwnMetric:
    return OwnMetric.model_validate({**TTFT, **changed})


def test_it_is_a_metric_of_a_device_with_origins_by_source() -> None:
    one = own(maximum=60)
    assert one.metric == Metric(
        "serving_first_token_seconds",
        Kind.GAUGE,
        "seconds",
        ("device", "model"),
        "Time to the first token.",
        maximum=60.0,
    )
    assert one.origins_of("vllm") == [Origin("vllm", "vllm_ttft_ms", 0.001, {"model": "{model_name}"})]
    assert one.origins_of("dcgm") == []


def test_a_counter_is_never_below_zero() -> None:
    assert own(name="site_tokens_total", kind="counter", unit="tokens").metric.minimum == 0.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "gpu_power_watts"}, "gpu_power_watts is a metric of the catalogue: give it another name"),
        ({"name": "up"}, "up is a name that Fabricscope writes itself"),
        ({"name": "fabricscope_x"}, "fabricscope_x is a name that Fabricscope writes itself"),
        ({"name": "time-to-token"}, "String should match pattern"),
        ({"name": "serving_tokens", "kind": "counter"}, "serving_tokens: expected a name that ends in _total"),
        ({"name": "site_tokens_total"}, "site_tokens_total: expected a name that ends in _total, _sum or _count"),
        ({"kind": "histogram"}, "Input should be 'counter'"),
        ({"unit": "ms/s"}, "String should match pattern"),
        ({"unit": None}, "Input should be a valid string"),
        ({"help": ""}, "at least 1 character"),
        ({"labels": ["device", "model"]}, "labels: expected each once, without device"),
        ({"labels": ["model", "model"]}, "labels: expected each once, without device"),
        ({"labels": ["a-b"]}, "String should match pattern"),
        ({"labels": []}, "vllm_ttft_ms: labels: model is no label of the metric"),
        ({"minimum": 5, "maximum": 5}, "minimum: expected less than maximum"),
        ({"origins": [{"name": "x"}]}, "Field required"),
        ({"origins": [{"source": "s", "name": "x{a}{b}"}]}, "text other than digits"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_what_is_malformed_or_clashes_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        own(**changed)
    assert message in caught.value.errors()[0]["msg"]


def test_what_is_defined_is_known_until_others_are() -> None:
    before = metrics()
    one = own()
    define([one])
    assert metrics().keys() - before.keys() == {one.name}
    assert origins_of("vllm")[-1][0] is metrics()[one.name]
    assert defined() == (one,)
    define([one])  # the same settings read again
    define(())
    assert (metrics(), defined()) == (before, ())


def test_names_of_a_system_of_the_catalogue_come_after_its_own() -> None:
    before = origins_of("dcgm")
    define([own(origins=[{"source": "dcgm", "name": "DCGM_FI_NEW", "labels": {"model": "{modelName}"}}])])
    assert origins_of("dcgm")[:-1] == before
    assert origins_of("dcgm")[-1][1].name == "DCGM_FI_NEW"
