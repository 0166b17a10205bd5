"""What a run found, as tables."""

from statistics import median

from rich.console import Console
from rich.table import Table

from tests.acceptance.crash.run import Verdict

_DIFFERENCES_SHOWN = 10


def print_verdicts(verdicts: list[Verdict], console: Console) -> None:
    console.print(_samples(verdicts), _pages(verdicts), _state(verdicts))
    for one in verdicts:
        for difference in one.state.differences[:_DIFFERENCES_SHOWN]:
            console.print(f"{one.engine}: differs from a run without kills: {difference[:300]}")


def _samples(verdicts: list[Verdict]) -> Table:
    names = ("served", "lost", "doubled", "invented", "unaccounted")
    more = ("in memory", "of up to s", "counted killed", "repeated", "set aside")
    table = _table("samples of numbered pages", *names, *more)
    for one in verdicts:
        found = one.samples
        counts = (found.served, found.lost, found.doubled, found.invented, found.unaccounted)
        table.add_row(
            one.engine,
            *map(str, counts),
            str(found.in_memory),
            f"{found.in_memory_s:.1f}",
            *map(str, (one.stages.killed, found.repeated, found.set_aside)),
            _verdict(found.passed),
        )
    return table


def _pages(verdicts: list[Verdict]) -> Table:
    table = _table(
        "incidents and pages, two receivers",
        "incidents",
        "transitions",
        "pages visible",
        "doubled",
        "missing",
        "invented",
        "repeated",
    )
    for one in verdicts:
        found = one.pages
        counts = (found.incidents, found.transitions, found.visible, found.doubled, found.missing, found.invented)
        table.add_row(one.engine, *map(str, (*counts, found.repeated)), _verdict(found.passed))
    return table


def _state(verdicts: list[Verdict]) -> Table:
    names = ("ledger", "analytics", "recorder", "findings", "incidents", "differ", "recovery s", "at most")
    table = _table("stages, state beside a run without kills, recovery", *names)
    for one in verdicts:
        stages, state = one.stages, one.state
        balance = sum(map(abs, stages.balance.values()))
        known = (state.findings, state.incidents, len(state.differences))
        counts = (balance, stages.analytics, stages.recorder, *known)
        recovery = (median(one.recovery_s), max(one.recovery_s)) if one.recovery_s else (0.0, 0.0)
        seconds = (f"{seconds:.1f}" for seconds in recovery)
        table.add_row(one.engine, *map(str, counts), *seconds, _verdict(stages.passed and state.passed))
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in ("bus", *headings, ""):
        table.add_column(heading, justify="right")
    return table


def _verdict(passed: bool) -> str:
    return "ok" if passed else "FAIL"
