"""What ``fabricscope collect`` says below its table about series that nothing maps."""

from pathlib import Path

import numpy as np
import pytest

from fabricscope.commands.collect import collect_and_print
from ingest.once import Outcome
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable

NOW_NS = 1_760_000_000_000_000_000


@pytest.mark.parametrize(
    ("left_out", "names", "caption"),
    [
        (0, (), ""),
        (3, (), "what is left out is so on purpose: docs/sources.md says why"),
        (3, ("novelty",), "1 names are not mapped, such as novelty: `--output json` lists them"),
    ],
)
def test_series_that_nothing_maps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    left_out: int,
    names: tuple[str, ...],
    caption: str,
) -> None:
    async def collected(*_: object) -> list[Outcome]:
        collection = Collection(1, 0, NOW_NS, 0.01, unmapped=len(names), left_out=left_out)
        table = SeriesTable("a/n1", "n1", ('node_load_1m{device="n1"}',))
        one = SampleBatch(table, collection, np.full(1, NOW_NS), np.zeros(1, dtype=np.uint32), np.ones(1))
        return [Outcome("a/n1", one, unmapped=names)]

    monkeypatch.setattr("fabricscope.commands.collect.collect_once", collected)
    monkeypatch.setattr("fabricscope.commands.collect._WIDTH", 200)
    (tmp_path / "f.yaml").write_text("{}")
    collect_and_print(tmp_path / "f.yaml", 1.0, 1, (), as_json=False)
    above, _, below = capfd.readouterr().out.rpartition("┘")
    assert (f"{left_out} left out" in above) == bool(left_out)
    assert below.strip() == caption
