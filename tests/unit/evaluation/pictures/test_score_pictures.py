"""The pictures of docs/scoring.md show what the page says of them."""

from pathlib import Path

import numpy as np
import pytest

from analytics.models.scoring.scorer import REASONS
from evaluation.pictures import score
from evaluation.pictures.score_series import Example, jumps, port, reasons, scored

PAGE = Path(__file__).parents[4] / "docs" / "scoring.md"


@pytest.mark.parametrize("example", [port(), *reasons()], ids=lambda example: example.title)
def test_what_is_unusual_alerts_for_its_reason_and_nothing_before_it(example: Example) -> None:
    scores = scored(example.values)
    assert not scores.alert[example.first : example.event.start].any()
    alerts = np.arange(scores.alert.size)[example.event][scores.alert[example.event]]
    assert example.reason in {REASONS[reason] for reason in scores.reason[alerts]}


def test_the_same_jump_alerts_in_the_calm_series_alone_and_the_page_gives_its_scores() -> None:
    calm, restless = jumps()
    assert calm.values[calm.event] == restless.values[restless.event]
    high, low = (float(scored(each.values).score[each.event].max()) for each in (calm, restless))
    assert low < 1.0 <= high
    assert f"scores {high:.1f} in a calm series and {low:.1f} in one that jumps often" in PAGE.read_text()


def test_the_same_series_give_the_same_bytes_and_the_page_shows_them(tmp_path: Path) -> None:
    drawn = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        score.main(folder)
        drawn.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert drawn[0] == drawn[1]
    assert all(f"(pictures/{name})" in PAGE.read_text() for name in drawn[0])
    assert all((score.FOLDER / name).is_file() for name in drawn[0])
