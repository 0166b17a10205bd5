"""The NOC page: static files, served by the API."""

from pathlib import Path

STATIC = Path(__file__).parent / "static"
