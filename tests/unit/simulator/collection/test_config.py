"""What a collection may be configured to, and how it says that something is wrong."""

import pytest
from pydantic import ValidationError

from common.errors import ConfigError
from simulator.collection.config import Clocks, CollectionConfig, Losses, Timing
from simulator.collection.presets import PRESETS
from simulator.config import SimulatorConfig
from simulator.direct import campaign


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"port": {}}, r"port\n  Extra inputs"),
        ({"ports": {"interval_s": [0.0]}}, r"ports\.interval_s\.0\n.*greater than 0"),
        (
            {"ports": {"interval_s": [5.0, 1.0], "jitter_s": 1.0}},
            "jitter_s 1: expected less than the shortest period, 1",
        ),
        ({"dcgm": {"refresh_s": [30.0], "refresh_jitter_s": 30.0}}, "refresh_jitter_s 30: expected less than"),
        ({"absent": ["fabric_port_colour"]}, "fabric_port_colour: expected metrics of the catalogue"),
        ({"losses": {"bad_share": 0.6}}, r"losses\.bad_share\n.*less than or equal to 0\.5"),
        ({"clocks": {"offset_s": float("inf")}}, r"clocks\.offset_s"),
        ({"inventory": {"links_missing": 1.5}}, r"inventory\.links_missing"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CollectionConfig.model_validate(settings)


def test_jitter_as_long_as_the_clusters_interval_is_refused() -> None:
    config = CollectionConfig(ports=Timing(jitter_s=2.0))
    ticks = campaign(SimulatorConfig(hosts=2, interval_s=2.0), [], 4.0, collection=config)
    with pytest.raises(ConfigError, match=r"jitter_s 2: expected less than the cluster's interval_s, 2"):
        next(ticks)


def test_presets_have_the_names_that_families_use() -> None:
    names = "ideal mixed-intervals cached frames-only no-ecn lossy skewed-clocks slow-slurm stale-inventory"
    more = "no-inventory no-cables nothing-known sessions unannounced"
    assert set(PRESETS) == {*names.split(), *more.split()}
    assert PRESETS["ideal"] == CollectionConfig()
    assert len({config.model_dump_json() for config in PRESETS.values()}) == len(PRESETS)


def test_a_skewed_clock_stays_within_what_ingest_accepts() -> None:
    """ingest drops samples that are over five minutes ahead of their collection."""
    assert Clocks.model_fields["offset_s"].metadata[1].le + 3600 * 500e-6 < 300
    with pytest.raises(ValidationError, match="offset_s"):
        Clocks(offset_s=301.0)
    assert Losses().bad_share == 0.0
