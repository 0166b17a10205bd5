"""The API keeps what its own description promises, whatever it is asked."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from tests.unit.fabricscope.api.traffic import bearer, eventually, get, incident, publish_cluster
from tests.unit.traffic import publish_incidents

ENDLESS = "/api/v1/stream"
KNOWN = {"incident_id": "i1"}
LIMITS = settings(
    max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize(
    ("mode", "names", "paths"),
    [
        pytest.param(GenerationMode.POSITIVE, {}, 21, id="as-described"),
        pytest.param(GenerationMode.POSITIVE, KNOWN, 2, id="an-incident-that-is-there"),
        pytest.param(GenerationMode.NEGATIVE, {}, 8, id="not-as-described"),
    ],
)
async def test_every_answer_is_as_described(api, bus, state_dir, mode, names, paths):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)
    await eventually(api.url, "/api/v1/targets", len)
    schema = await asyncio.to_thread(schemathesis.openapi.from_url, f"{api.url}/openapi.json")
    asked = await asyncio.to_thread(ask_everything, schema.exclude(path=ENDLESS), mode, names, bearer(state_dir))
    assert len(asked) == paths


async def test_the_description_names_what_needs_a_token(api):
    _, described = await get(api.url, "/openapi.json")
    paths = described["paths"].items()
    secured = {(method, path) for path, methods in paths for method, one in methods.items() if "security" in one}
    assert secured == {("post", "/api/v1/changes"), ("post", "/api/v1/replays"), ("post", "/-/reload")}
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert {"401", "403", "429"} <= described["paths"]["/api/v1/changes"]["post"]["responses"].keys()


def ask_everything(
    schema: BaseSchema, mode: GenerationMode, names: dict[str, str], headers: dict[str, str]
) -> set[str]:
    """The paths that were asked, each many times; the first answer that breaks the description raises.

    With ``names`` only paths that have them are asked; questions against the description need a query to break.
    """
    asked = set()

    def ask(case: Case[Any]) -> None:
        asked.add(case.path)
        # A description cannot say that something ends after it starts, nor in which years; and bad tokens are soon
        # answered with 429, which is no sign that tokens are ignored.
        unchecked = [positive_data_acceptance, ignored_auth] if case.method == "POST" else []
        case.call_and_validate(timeout=60, headers=headers, excluded_checks=unchecked)

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
