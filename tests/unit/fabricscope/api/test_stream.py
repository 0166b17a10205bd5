"""What the streams of several NOC pages cost."""

import json
import time
from contextlib import aclosing
from itertools import count
from types import SimpleNamespace

import pytest

from fabricscope.api.routes.stream import Pictures, _events


@pytest.fixture
def asked() -> list[int]:
    """One entry for each time that the state of the data is made."""
    return []


@pytest.fixture
def pictures(model, asked) -> Pictures:
    def clock() -> int:
        asked.append(1)
        return 0

    return Pictures(model, SimpleNamespace(problem=lambda: None), clock)


async def test_the_state_of_the_data_is_made_once_for_all_streams(model, pictures, asked, monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    said: set[str] = set()
    for _ in range(50):
        async with aclosing(_events(model, pictures, lambda: True)) as events:
            assert (await anext(events)).event == "picture"
            said.add(str((await anext(events)).data))
    assert len(asked) == len(said) == 1
    assert json.loads(said.pop())["level"] == "missing"


def test_it_is_made_again_after_a_second(pictures, asked, monkeypatch):
    seconds = count(100)
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    for _ in range(3):
        pictures.data()
    assert len(asked) == 3
