"""Which metrics have an anomaly score by default: what shows a known effect when it rises, and nothing else of it."""

from analytics.config import DetectionConfig
from telemetry.kinds import effects

# A heat that no simulated cluster has, so nothing was measured; what all GPUs of a target leave together when its unit
# changes; and what follows the job, not the card.
NOT_SCORED = {"fabric_device_temperature_celsius", "gpu_temperature_celsius", "gpu_tensor_active_ratio"}


def test_what_shows_an_effect_by_a_rise_is_scored() -> None:
    rises = {metric for effect in effects().values() for metric in effect.up}
    assert rises - DetectionConfig().scored.keys() == NOT_SCORED


def test_what_shows_an_effect_by_a_fall_is_not() -> None:
    falls = {metric for effect in effects().values() for metric in effect.down}
    assert not falls & DetectionConfig().scored.keys()
