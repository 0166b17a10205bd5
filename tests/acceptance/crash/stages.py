"""Whether the program's own ledger agrees with what is on the bus. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.crash.evidence.batches import RawBatch
from tests.acceptance.crash.evidence.records import RawRecord

LEDGER = "fabricscope.ledger.v1"


@dataclass(frozen=True, slots=True)
class Report:
    """The newest report of a stage. used: samples that it read, without repetitions."""

    used: int = 0
    balance: int = 0
    killed: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StagesVerdict:
    """balance: by stage, samples that its own counts do not explain. killed: what ingest counts as such.

    analytics, recorder: samples of the bus that it has not used, or has used twice; negative where it has too many.
    """

    balance: Mapping[str, int]
    killed: int
    analytics: int
    recorder: int

    @property
    def passed(self) -> bool:
        return not (any(self.balance.values()) or self.analytics or self.recorder)


def newest_reports(records: Iterable[RawRecord]) -> dict[str, Report]:
    """By stage."""
    values = [json.loads(one.value) for one in records if one.topic == LEDGER and one.value]
    return {value["stage"]: _report(value) for value in values}


def _report(value: Mapping[str, Any]) -> Report:
    used = value["samples_in"] - value["deduplicated"]
    dropped = value["dropped"]
    balance = used - value["samples_out"] - value["held"] - sum(dropped.values())
    return Report(used, balance, dropped.get("killed", 0), dropped)


def judge_stages(reports: Mapping[str, Report], bus: Sequence[RawBatch], recorded: Sequence[RawBatch]) -> StagesVerdict:
    on_bus = rows(bus)
    return StagesVerdict(
        balance={stage: report.balance for stage, report in reports.items()},
        killed=sum(report.killed for report in reports.values()),
        analytics=on_bus - reports["analytics"].used if "analytics" in reports else 0,
        recorder=on_bus - rows(recorded),
    )


def rows(batches: Iterable[RawBatch]) -> int:
    """Samples of different collections."""
    return sum({batch.identity: batch.rows for batch in batches}.values())
