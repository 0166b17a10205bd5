"""Log lines as operators and their log pipelines read them."""

import json
import subprocess
import sys

import pytest

from fabricscope.logs import LogFormat, LogLevel

PROGRAM = """
import logging, sys, threading
import structlog
from fabricscope.logs import LogFormat, LogLevel, configure_logs

configure_logs(LogLevel(sys.argv[1]), LogFormat(sys.argv[2]))
log = structlog.get_logger()
structlog.contextvars.bind_contextvars(stage="ingest")
log.debug("detail")
log.info("hostile", target="a b\\nlevel=error event=forged", port=7, up=True)
logging.getLogger("some.library").warning("of a library: %s", "x\\ny")
logging.getLogger("aiokafka.conn").error("refused")
logging.getLogger("matplotlib.font_manager").info("a font")
try:
    raise ValueError("broken")
except ValueError:
    log.exception("failed", error="broken")
"""


def lines(level: LogLevel, form: LogFormat) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, level, form]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout == "", "standard output is for results"
    return answer.stderr.splitlines()


@pytest.mark.parametrize(
    ("level", "events"),
    [
        (LogLevel.DEBUG, ["detail", "hostile", "of a library: x\ny", "failed"]),
        (LogLevel.INFO, ["hostile", "of a library: x\ny", "failed"]),
        (LogLevel.WARN, ["of a library: x\ny", "failed"]),
        (LogLevel.ERROR, ["failed"]),
    ],
)
def test_json_has_one_object_a_line_from_the_chosen_level_on(level, events):
    assert [json.loads(line)["event"] for line in lines(level, LogFormat.JSON)] == events


def test_every_line_has_time_level_and_stage():
    found = [json.loads(line) for line in lines(LogLevel.INFO, LogFormat.JSON)]
    assert [one["level"] for one in found] == ["info", "warning", "error"]
    assert {one["stage"] for one in found} == {"ingest"}
    assert all(one["timestamp"].endswith("Z") for one in found)


def test_values_keep_their_types_and_an_exception_its_traceback():
    hostile, _, failed = (json.loads(line) for line in lines(LogLevel.INFO, LogFormat.JSON))
    assert (hostile["port"], hostile["up"]) == (7, True)
    assert failed["error"] == "broken"
    assert failed["exception"].endswith("ValueError: broken")


def test_no_value_can_forge_a_line_of_logfmt():
    found = lines(LogLevel.INFO, LogFormat.LOGFMT)
    assert [line.split(" ", 1)[0][:10] for line in found] == ["timestamp="] * 3
    assert 'level=info stage=ingest event=hostile target="a b\\nlevel=error event=forged" port=7 up=true' in found[0]
    assert r"of a library: x\ny" in found[1]
