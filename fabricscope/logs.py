"""Structured logs on standard error: the one place that configures them.

Events are short and constant; what varies is in fields. ``stage`` is in every line of a stage; others use ``error`` for
the text of an exception, ``reason`` for one word of a closed set, ``receiver``, ``target`` and ``topic`` for names.
"""

import logging
import sys
from enum import StrEnum
from typing import TYPE_CHECKING

from common.printing import printable

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogFormat(StrEnum):
    LOGFMT = "logfmt"
    JSON = "json"


# Libraries by the least level of theirs that is logged. aiokafka writes an error with every refused connection, which
# the bus reports itself; matplotlib logs each font that it finds.
_LIBRARIES = {
    "aiokafka": logging.CRITICAL,
    "asyncio": logging.WARNING,
    "grpc": logging.WARNING,
    "matplotlib": logging.WARNING,
}


def configure_logs(level: LogLevel, form: LogFormat) -> None:
    """For this process, once. No label can forge a line or act on a terminal, and no address shows a password."""
    import structlog  # here, as it costs more time than the commands that log nothing

    first = ["timestamp", "level", "stage", "event"]
    logfmt = structlog.processors.LogfmtRenderer(key_order=first, drop_missing=True, bool_as_flag=False)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = logfmt if form is LogFormat.LOGFMT else structlog.processors.JSONRenderer()

    def safe(logger: "WrappedLogger", method: str, event: "EventDict") -> str:
        # The whole line, so that no value, name or traceback is forgotten; JSON reads the same escapes.
        return printable(str(renderer(logger, method, event)))

    number = getattr(logging, {"warn": "WARNING"}.get(level.value, level.value.upper()))
    # Through the standard library, so that our records and those of libraries look the same.
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=safe))
    logging.basicConfig(handlers=[handler], level=number, force=True)
    for library, least in _LIBRARIES.items():
        logging.getLogger(library).setLevel(max(number, least))
