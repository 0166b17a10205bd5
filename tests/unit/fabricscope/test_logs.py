"""Log lines as operators and their log pipelines read them."""

import json
import subprocess
import sys
import unicodedata

import pytest

from fabricscope.logs import LogFormat, LogLevel
from tests.waiting import DEADLINE_S

PROGRAM = """
import logging, sys, threading
import structlog
from fabricscope.logs import LogFormat, LogLevel, configure_logs

configure_logs(LogLevel(sys.argv[1]), LogFormat(sys.argv[2]))
log = structlog.get_logger()
structlog.contextvars.bind_contextvars(stage="ingest")
log.debug("detail")
if len(sys.argv) > 3:
    hostile = "".join(map(chr, (*range(32), *range(127, 160), 0x2028, 0x202E))) + "http://carol:s3cret@host/x"
    log.info("hostile" + hostile, target=hostile, error=ValueError(hostile), names=[hostile], body=hostile.encode())
    logging.getLogger("some.library").warning("of a library: %s", hostile)
    try:
        raise ValueError(hostile)
    except ValueError:
        log.exception("failed", error=hostile)
    sys.exit()
log.info("hostile", target="a b\\nlevel=error event=forged", port=7, up=True)
logging.getLogger("some.library").warning("of a library: %s", "x\\ny")
logging.getLogger("aiokafka.conn").error("refused")
logging.getLogger("matplotlib.font_manager").info("a font")
try:
    raise ValueError("broken")
except ValueError:
    log.exception("failed", error="broken")
"""


def output(*arguments: str) -> bytes:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    answer = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=True)
    assert answer.stdout == b"", "standard output is for results"
    return answer.stderr


def lines(level: LogLevel, form: LogFormat) -> list[str]:
    return output(level, form).decode().splitlines()


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


@pytest.mark.parametrize("form", LogFormat)
def test_nothing_in_a_line_acts_on_a_terminal_or_shows_a_password(form):
    text = output(LogLevel.INFO, form, "hostile").decode()
    assert text.count("\n") == 3
    assert [f"U+{ord(c):04X}" for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")] == []
    assert "s3cret" not in text
    assert text.count("http://***@host/x") >= 6
    assert "\\u001b" in text


@pytest.mark.parametrize("form", LogFormat)
def test_escapes_stay_what_each_format_reads(form):
    first = output(LogLevel.INFO, form, "hostile").decode().splitlines()[0]
    if form is LogFormat.JSON:
        assert json.loads(first)["target"].startswith("\x00\x01")
    else:
        assert first.endswith('"') or " " in first
