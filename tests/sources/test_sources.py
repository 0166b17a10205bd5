"""The document about sources is the generated one, and what it says of pages is what is read of them."""

from pathlib import Path

import pytest

from telemetry.catalogue import Source, sources
from tests.samples import SAMPLES
from tests.sources import Reading, read_page
from tests.sources.__main__ import document


def test_the_document_is_the_generated_one() -> None:
    committed = SAMPLES.parents[2] / "docs" / "sources.md"
    assert committed.read_text() == document(), "run: make docs"


def test_every_system_is_in_the_overview_and_every_page_in_its_table() -> None:
    rows = [line.split(" | ") for line in document().splitlines() if line.startswith("| ")]
    first = [row[0].removeprefix("| ").split("]")[0].removeprefix("[") for row in rows]
    assert set(sources()) <= set(first)
    assert {f"`{page}`" for system in sources().values() for page in system.pages} <= set(first)


def test_only_what_is_mapped_counts_as_mapped_and_what_has_a_reason_as_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        'DCGM_FI_DEV_GPU_TEMP{UUID="G"} 40',
        "# HELP x",
        'DCGM_FI_DEV_GPU_TEMP{gpu="1"} 41',
        "novelty 1",
        "go_threads 9",
        "",
    )
    (tmp_path / "page.prom").write_text("\n".join(lines))
    monkeypatch.setattr("tests.sources.SAMPLES", tmp_path)
    assert read_page(sources()["dcgm"], "page.prom") == Reading(4, 1, frozenset({"DCGM_FI_DEV_GPU_TEMP"}), 1)


def test_paths_of_a_switch_count_as_series() -> None:
    system: Source = sources()["sonic"]
    found = read_page(system, "sonic/gnmi/PORT_TABLE.json")
    assert found.mapped == 15
    assert found.series > found.mapped
    assert "PORT_TABLE/{port}/oper_status" in found.names
