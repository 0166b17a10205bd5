"""Where and with which versions figures were measured."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.rows import Row

_LIBRARIES = ("numpy", "numba", "polars", "grpcio", "aiokafka", "zstandard", "prometheus-client", "pygnmi")


def machine() -> Row:
    """Processor, memory, load, system, and the versions of what is measured."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "name": "machine",
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": os.getloadavg(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("fabricscope", *_LIBRARIES)},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
