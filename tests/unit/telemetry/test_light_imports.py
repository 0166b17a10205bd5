"""What every process imports stays light: libraries for columns and compression belong to the codec alone."""

import subprocess
import sys
from pathlib import Path

import telemetry

HEAVY = ("polars", "zstandard", "numba", "grpc", "google.protobuf", "aiohttp", "sklearn")
MODULES = sorted(f"telemetry.{path.stem}" for path in Path(telemetry.__path__[0]).glob("[a-z]*.py"))


def test_types_topics_and_catalogue_load_no_heavy_library() -> None:
    assert "telemetry.samples" in MODULES
    names = ", ".join([*MODULES, "telemetry.catalogue", "telemetry.codec.records"])
    program = f"import sys, {names}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    command = [sys.executable, "-W", "ignore", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
