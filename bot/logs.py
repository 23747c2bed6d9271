"""Logs: one redacting processor for every line, third-party lines too (reliability.md P15, S9)."""

import logging
import sys
from collections.abc import Callable

import structlog
from structlog.typing import EventDict, WrappedLogger

from core.rules.redact import Redactor
from core.rules.terminal import strip

_QUIET = ("httpx", "httpcore", "aiohttp.access", "apscheduler", "telegram", "aiosqlite")


def configure(level: str, own_secrets: tuple[str, ...]) -> None:
    """Send every log line to stderr, masked and without terminal escapes."""
    redactor = Redactor(own_secrets)

    def mask(_logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        # Our own lines at `info` name ids and paths; the table of secrets (6 MB) waits for the first other.
        clean = redactor.own_only if method == "info" and "_from_structlog" not in event else redactor.redact
        return {key: _masked(clean, value) for key, value in event.items()}

    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[_plain, renderer])
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers, root.level = [handler], logging.getLevelName(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _plain(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.pop("_record", None)
    event.pop("_from_structlog", None)
    return event


def _masked(clean: Callable[[str], str], value: object) -> object:
    if isinstance(value, str):
        return clean(strip(value))
    if isinstance(value, bool | int | float) or value is None:
        return value
    return value if isinstance(value, logging.LogRecord) else clean(strip(str(value)))
