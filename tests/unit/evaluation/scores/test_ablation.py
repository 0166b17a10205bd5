"""Leaving out one part of the score leaves out that part alone."""

from evaluation.scores import ablation
from evaluation.series.synthetic import corpus


def test_without_silence_flatlines_are_missed():
    entries = {each.part: each for each in ablation.run(list(corpus((1,))))}
    assert list(entries) == ["nothing", *ablation.PARTS]
    assert entries["nothing"].missed == {}
    assert entries["silence"].missed["flatline"] > 0
    assert len({each.figures.windows for each in entries.values()}) == 1
