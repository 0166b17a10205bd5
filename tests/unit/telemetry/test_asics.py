"""The table of switch ASICs, and what follows from a buffer."""

import pytest

from telemetry.asics import Asic, asic_name, asics


def test_a_queue_alone_gets_what_its_dynamic_threshold_leaves_it() -> None:
    for alpha, share in ((1.0, 1 / 2), (1 / 8, 1 / 9), (1 / 64, 1 / 65)):
        assert Asic(90, "", alpha=alpha).pause_bytes == pytest.approx(90 * share)
        # Its fixed point: alpha times what it leaves free.
        assert Asic(90, "", alpha=alpha).pause_bytes == pytest.approx(alpha * (90 - 90 * share))
    assert Asic(90, "", memories=2).pause_bytes == pytest.approx(5.0)


def test_switches_pause_at_very_different_heights() -> None:
    names = ("Spectrum-1", "Spectrum-3", "Tomahawk 5", "Jericho2C+")
    heights = [round(asics()[name].pause_bytes / 1e5) / 10 for name in names]
    assert heights == [1.6, 6.8, 9.6, 49.6]


def test_every_number_has_a_source_and_is_possible() -> None:
    for name, asic in asics().items():
        assert asic.source, name
        assert 1e7 < asic.buffer_bytes < 2e10, name
        assert 0 < asic.alpha <= 1, name
        assert asic.memories >= 1, name
        assert asic_name(name) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [("spectrum4", "Spectrum-4"), ("TOMAHAWK 5", "Tomahawk 5"), ("silicon-one g200", "Silicon One G200")],
)
def test_people_write_names_in_their_way(text: str, name: str) -> None:
    assert asic_name(text) == name


def test_an_unknown_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match="Bison: expected one of Spectrum-1, Spectrum-2"):
        asic_name("Bison")
