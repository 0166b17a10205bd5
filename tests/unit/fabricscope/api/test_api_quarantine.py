"""A record that ends the API is put aside, and the others are served."""

from bus.base import Message
from bus.deadletter import REASON
from fabricscope.api.config import ApiConfig
from fabricscope.api.read_model import ReadModel
from fabricscope.api.service import ApiService
from telemetry import topics
from tests.unit.alerts.incident_factory import incident
from tests.unit.crashing import crash_on, crashes_until, dead_letters
from tests.unit.traffic import publish_incidents


async def test_the_others_are_served(bus, tmp_path, replace, monkeypatch):
    def is_bad(model, records) -> bool:
        return any(record.value == b"poison" for record in records)

    crash_on(monkeypatch, ReadModel, "apply", is_bad)
    await publish_incidents(bus, incident(id="before"))
    await bus.publish(topics.INCIDENTS, [Message(b"x", b"poison")])
    await publish_incidents(bus, incident(id="after"))
    started: list[ApiService] = []

    async def start() -> ApiService:
        started.append(await replace(ApiService(ApiConfig(port=0, state_dir=tmp_path / "api"), bus)))
        return started[-1]

    assert await crashes_until(start, lambda: set(started[-1]._model.incidents) == {"before", "after"}) == 3
    (letter,) = await dead_letters(bus)
    assert letter.headers[REASON] == b"crashed"
