"""The API keeps what its own description promises, whatever it is asked."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.unit.fabricscope.api.traffic import eventually, incident, publish_cluster
from tests.unit.traffic import publish_incidents

ENDLESS = "/api/v1/stream"
KNOWN = {"incident_id": "i1"}
LIMITS = settings(
    max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize(
    ("mode", "names", "paths"),
    [
        pytest.param(GenerationMode.POSITIVE, {}, 13, id="as-described"),
        pytest.param(GenerationMode.POSITIVE, KNOWN, 2, id="an-incident-that-is-there"),
        pytest.param(GenerationMode.NEGATIVE, {}, 5, id="not-as-described"),
    ],
)
async def test_every_answer_is_as_described(api, bus, mode, names, paths):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)
    await eventually(api.url, "/api/v1/targets", len)
    schema = await asyncio.to_thread(schemathesis.openapi.from_url, f"{api.url}/openapi.json")
    asked = await asyncio.to_thread(ask_everything, schema.exclude(path=ENDLESS), mode, names)
    assert len(asked) == paths


def ask_everything(schema: BaseSchema, mode: GenerationMode, names: dict[str, str]) -> set[str]:
    """The paths that were asked, each many times; the first answer that breaks the description raises.

    With ``names`` only paths that have them are asked; questions against the description need a query to break.
    """
    asked = set()

    def ask(case: Case[Any]) -> None:
        asked.add(case.path)
        # A description cannot say that something ends after it starts, nor in which years.
        case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance] if case.method == "POST" else [])

    for described in schema.get_all_operations():
        assert isinstance(described, Ok), described
        operation = described.ok()
        if names and not names.keys() <= {parameter.name for parameter in operation.path_parameters}:
            continue
        if mode is GenerationMode.NEGATIVE and not list(operation.query):
            continue
        cases = operation.as_strategy(mode, path_parameters=dict(names) or None)
        LIMITS(given(cases)(ask))()
    return asked
