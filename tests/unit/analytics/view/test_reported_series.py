"""Which series are those of findings: worked out again when these or the series change."""

from analytics.state.registry import Registry
from analytics.view.reported import ReportedSeries
from analytics.view.tick_data import SelectionCache
from telemetry.series import SeriesTable, series_key

UP, FLAPS = "fabric_port_up", "fabric_port_flaps_total"


def table(device: str) -> SeriesTable:
    keys = (series_key(metric, {"device": device, "port": f"Ethernet{n}"}) for metric in (UP, FLAPS) for n in (0, 4))
    return SeriesTable(device, device, tuple(keys))


def test_the_series_of_a_finding_are_those_that_its_detector_reads() -> None:
    registry = Registry(100)
    registry.rows(table("leaf1"))
    reported = ReportedSeries(registry, SelectionCache(registry))
    assert not reported.about([]).any()
    about = [((UP,), ["port:leaf1/Ethernet4", "port:leaf9/Ethernet4"])]
    found = reported.about(about)
    assert found.tolist() == [False, True, False, False]
    assert reported.about(about) is found
    assert reported.about([((UP, FLAPS), ["port:leaf1/Ethernet4"])]).tolist() == [False, True, False, True]


def test_new_series_of_the_same_object_are_reported_too() -> None:
    registry = Registry(100)
    registry.rows(table("leaf1"))
    reported = ReportedSeries(registry, SelectionCache(registry))
    about = [((UP,), ["port:leaf2/Ethernet0"])]
    assert reported.about(about).size == 4
    registry.rows(table("leaf2"))
    assert reported.about(about).nonzero()[0].tolist() == [4]
