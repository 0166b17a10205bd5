"""Says that a file of the stage was damaged: in the log, and on /metrics."""

import structlog

from alerts import metrics
from common.sqlite.opening import Damage

REASONS_LOGGED_MAX = 5
log = structlog.get_logger(__name__)


def report_damage(damage: Damage) -> None:
    """Once for each time that a file was set aside."""
    metrics.FILES_DAMAGED.labels(damage.file).inc()
    for table, rows in damage.rows.items():
        metrics.ROWS_DAMAGED.labels(table).inc(rows)
    log.error(
        "damaged file set aside",
        file=damage.file,
        reasons=list(damage.reasons[:REASONS_LOGGED_MAX]),
        rows=dict(damage.rows),
        see=str(damage.reason),
    )
