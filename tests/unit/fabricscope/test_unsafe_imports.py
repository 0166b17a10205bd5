"""What the product never loads: readers that run code which the bytes bring, or that turn text into protobuf."""

import ast
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.internal import api_implementation

ROOT = Path(__file__).parents[3]
PRODUCT = (
    "alerts",
    "analytics",
    "bus",
    "common",
    "dashboards",
    "export",
    "fabricscope",
    "ingest",
    "recordings",
    "simulator",
    "telemetry",
)
UNSAFE = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "skops", "torch"}
UNSAFE |= {"google.protobuf.json_format", "xml"}
# nvidia-smi prints nothing but XML. The bare parser builds no tree and reads no other file, and the module refuses a
# document that defines entities: tests/unit/ingest/nvidia_smi/test_nvidia_smi_parse.py.
# gnmic's protojson is protobuf as JSON. What is too deep ends as RecursionError, which is a bad message there:
# tests/unit/ingest/kafka_topics/test_gnmic_texts.py.
# OTLP's JSON is protobuf as JSON, too. What is too deep or has too many values is refused:
# tests/conformance/collectors/test_otlp_http.py, tests/unit/ingest/otlp/test_otlp_json.py. Its answers are written so.
ALLOWED = {
    "ingest/collectors/nvidia_smi/parse.py": ["xml.parsers", "xml.parsers.expat"],
    "ingest/collectors/kafka_topics/decode/gnmic_proto.py": ["google.protobuf.json_format"],
    "ingest/collectors/otlp/decode/json_body.py": ["google.protobuf.json_format"],
    "ingest/collectors/otlp/over_http.py": ["google.protobuf.json_format"],
}


def imported_by(source: str) -> Iterator[str]:
    """Full names, those of ``from a import b`` too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def unsafe(source: str) -> list[str]:
    return [name for name in imported_by(source) if any(f"{name}.".startswith(f"{each}.") for each in UNSAFE)]


def test_the_search_finds_every_form() -> None:
    assert unsafe("import os, pickle") == ["pickle"]
    assert unsafe("def f():\n    from google.protobuf import json_format") == ["google.protobuf.json_format"]
    assert unsafe("from xml.etree import ElementTree") == ["xml.etree", "xml.etree.ElementTree"]
    assert unsafe("import picklejar") == []


def test_no_module_loads_an_unsafe_reader() -> None:
    files = [path for package in PRODUCT for path in (ROOT / package).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): unsafe(path.read_text()) for path in files}
    assert len(found) > 200
    assert {path: names for path, names in found.items() if names} == ALLOWED


def test_protobuf_runs_on_its_own_bounded_parser() -> None:
    """upb limits the depth of messages; the one in plain Python does not, and is slow."""
    assert api_implementation.Type() == "upb"
