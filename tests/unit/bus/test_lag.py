"""How far a stage is behind, and until when: from what two looks at a real bus show."""

import pytest
from prometheus_client import REGISTRY

from bus.base import Bus
from bus.lag import Lag
from tests.conformance.bus.reading import fresh_topic, numbered, read


def shown(name: str) -> float | None:
    return REGISTRY.get_sample_value(f"fabricscope_bus_{name}", {"stage": "test"})


@pytest.mark.parametrize(
    ("polled", "added", "catch_up_s"),
    [
        (30, 0, 70 / 3),  # 30 fewer within 10 s
        (30, 10, 40.0),  # 20 fewer: 80 are left
        (30, 30, None),
        (30, 50, None),
        (100, 0, 0.0),
    ],
)
async def test_the_time_to_catch_up_follows_from_the_pace(
    bus: Bus, polled: int, added: int, catch_up_s: float | None
) -> None:
    now_s, topic = 0.0, fresh_topic()
    await bus.publish(topic, numbered(100))
    reader, lag = bus.consume([topic], {}), Lag("test", lambda: now_s)
    assert await lag.measure(reader) == {"lag_records": 100.0}
    assert shown("catch_up_seconds") == float("inf")
    await read(reader, polled, records_max=polled)
    await bus.publish(topic, numbered(added))
    now_s = 10.0
    left = 100.0 - polled + added
    expected = {"lag_records": left} if catch_up_s is None else {"lag_records": left, "catch_up_seconds": catch_up_s}
    assert await lag.measure(reader) == pytest.approx(expected)
    assert shown("lag_records") == left
    await reader.stop()
