"""What is left out is left out, and nothing else."""

from evaluation.series import ablation
from evaluation.series.synthetic import corpus


def test_without_silence_nobody_says_that_a_series_stands_still():
    entries = {each.part: each for each in ablation.run(list(corpus((1,))))}
    assert list(entries) == ["nothing", *ablation.PARTS]
    assert entries["nothing"].missed == {}
    assert entries["silence"].missed["flatline"] > 0
    assert len({each.figures.windows for each in entries.values()}) == 1
