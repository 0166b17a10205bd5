"""How the catalogue is read, and the document that is generated from it."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from telemetry.catalogue import Kind, Metric, Origin, Source, metrics, origins_of, sources
from telemetry.catalogue.__main__ import document

ENTRY: dict[str, Any] = {"name": "m", "kind": "gauge", "unit": "", "labels": ["device"], "help": "For a test."}
METRIC, SOURCE = TypeAdapter(Metric), TypeAdapter(Source)


def test_an_entry_with_defaults() -> None:
    found = METRIC.validate_python(ENTRY)
    assert found == Metric("m", Kind.GAUGE, "", ("device",), "For a test.")
    assert (found.width, found.saturates, found.refresh_s, found.minimum, found.origins) == (64, 0, 0.0, None, ())


def test_an_entry_with_origins() -> None:
    found = METRIC.validate_python({**ENTRY, "origins": [{"source": "dcgm", "name": "x", "scale": 0.5, "bit": 3}]})
    assert found.origins == (Origin("dcgm", "x", scale=0.5, bit=3),)


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"kind": "histogram"}, "kind"),
        ({"colour": "red"}, "colour"),
        ({"labels": "device"}, "labels"),
        ({"origins": [{"name": "x"}]}, "origins.0.source"),
        ({"origins": [{"source": "dcgm", "name": "x", "scales": 2}]}, "origins.0.scales"),
    ],
)
def test_a_misspelt_entry_is_refused_with_its_key(changed: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        METRIC.validate_python({**ENTRY, **changed})
    assert ".".join(map(str, caught.value.errors()[0]["loc"])) == where


def test_a_misspelt_source_is_refused() -> None:
    with pytest.raises(ValidationError, match="sentinel"):
        SOURCE.validate_python({"name": "s", "help": "", "sentinel": []})


def test_origins_of_a_source_are_all_of_its_names_and_no_other_s() -> None:
    found = origins_of("ipmi")
    assert {origin.source for _, origin in found} == {"ipmi"}
    assert len(found) == sum(origin.source == "ipmi" for metric in metrics().values() for origin in metric.origins)
    assert origins_of("of nobody") == []


def test_every_source_has_names_and_a_help() -> None:
    for name, source in sources().items():
        assert source.name == name
        assert source.help
        assert origins_of(name) or name == "cumulus", name


def test_the_document_has_one_row_for_each_metric_in_the_catalogue_s_order() -> None:
    rows = [line for line in document().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(metrics())
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)
