"""Structured logs on standard error."""

import logging
import sys
from enum import StrEnum

import structlog


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogFormat(StrEnum):
    LOGFMT = "logfmt"
    JSON = "json"


def configure_logs(level: LogLevel, form: LogFormat) -> None:
    """For this process, once. Both renderers escape line breaks, so that no label can forge a line."""
    logfmt = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)
    renderer = logfmt if form is LogFormat.LOGFMT else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelName(level.value.upper().replace("WARN", "WARNING"))
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
