"""The API keeps what its own description promises, whatever it is asked."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.unit.fabricscope.api.traffic import bearer, eventually, get, incident, publish_cluster
from tests.unit.traffic import publish_incidents
from tests.waiting import DEADLINE_S

ENDLESS = "/api/v1/stream"
KNOWN = {"incident_id": "i1"}
LIMITS = settings(
    max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize(
    ("mode", "names", "paths"),
    [
        pytest.param(GenerationMode.POSITIVE, {}, 35, id="as-described"),
        pytest.param(GenerationMode.POSITIVE, KNOWN, 7, id="an-incident-that-is-there"),
        pytest.param(GenerationMode.NEGATIVE, {}, 18, id="not-as-described"),
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


async def test_where_reading_needs_a_token_every_route_says_so(bus, state_dir):
    service = ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True), bus)
    await service.start()
    try:
        _, described = await get(service.url, "/openapi.json", headers=bearer(state_dir))
    finally:
        await service.stop()
    routes = [(path, one) for path, methods in described["paths"].items() for one in methods.values()]
    assert {path for path, one in routes if one.get("security") != [{"token": []}]} == {"/-/healthy", "/-/ready"}


def resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema, or what it refers to."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return dict(described["components"]["schemas"][name]) if name else schema


def untyped(schema: Any, where: str = "") -> list[str]:
    """Places that say nothing of what is there: objects without fields, lists without items, nothing at all."""
    if not isinstance(schema, dict):
        return []
    names = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
    bare = schema.get("type") == "object" and not {"properties", "additionalProperties"} & schema.keys()
    found = [where] if bare or not names & schema.keys() or schema.get("additionalProperties") is True else []
    for name, part in schema.get("properties", {}).items():
        found += untyped(part, f"{where}.{name}")
    for key in ("items", "additionalProperties"):
        found += untyped(schema.get(key), f"{where}.{key}")
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found += untyped(part, where)
    return found


async def test_the_description_is_complete(api):
    """Every route says what it does, what it answers with, of which type, and shows it with an example."""
    _, described = await get(api.url, "/openapi.json")
    assert described["info"]["description"]
    known_tags = {tag["name"] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            place = f"{method} {path}"
            assert one["summary"], place
            assert one["description"], place
            assert set(one["tags"]) <= known_tags, place
            (good,) = (answer for status, answer in one["responses"].items() if status.startswith("2"))
            ((_, content),) = good["content"].items()
            assert untyped(content["schema"], place) == []
            assert has_example(described, content), place
            errors = {status: answer for status, answer in one["responses"].items() if status >= "400"}
            assert errors.keys() >= {"400", "401", "403", "429", "500"}, place
            for answer in errors.values():
                ((form, content),) = answer["content"].items()
                assert (form, content["schema"]) == ("application/json", {"$ref": "#/components/schemas/Problem"}), (
                    place
                )
                assert content["example"].keys() == {"status", "errorType", "error"}, place
            if "requestBody" in one:
                asked = one["requestBody"]["content"]["application/json"]
                assert "examples" in resolved(described, asked["schema"]) or has_example(described, asked), place
            for parameter in one.get("parameters", ()):
                assert parameter["description"], f"{place} {parameter['name']}"
                assert untyped(parameter["schema"], f"{place} {parameter['name']}") == []


async def test_every_type_of_the_description_says_what_is_in_it(api):
    _, described = await get(api.url, "/openapi.json")
    schemas = described["components"]["schemas"].items()
    assert [place for name, schema in schemas for place in untyped(schema, name)] == []
    assert [name for name, schema in schemas if "properties" in schema and not schema.get("description")] == []


def has_example(described: dict[str, Any], content: dict[str, Any]) -> bool:
    """Whether the answer has one, or each of its fields, or of those of its items."""
    if "example" in content:
        return True
    shown = resolved(described, content["schema"])
    shown = resolved(described, shown["items"]) if "items" in shown else shown
    return all(example_of_field(described, part) for part in shown["properties"].values())


def example_of_field(described: dict[str, Any], part: dict[str, Any]) -> bool:
    """What has none is clear by itself: yes or no, one of few words, or a type whose fields have theirs."""
    part = resolved(described, part)
    if "examples" in part or "enum" in part or "const" in part or part.get("type") in ("boolean", "null"):
        return True
    if "items" in part:
        return example_of_field(described, part["items"])
    if "anyOf" in part:
        return any(example_of_field(described, each) for each in part["anyOf"])
    return "properties" in part


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
        if "cursor" in (case.query or {}):  # nor that it comes from an answer
            unchecked.append(positive_data_acceptance)
        case.call_and_validate(timeout=DEADLINE_S, headers=headers, excluded_checks=unchecked)

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
