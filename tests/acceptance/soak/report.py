"""The tables and the picture of a soak."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
from rich.table import Table

from tests.acceptance.soak import verdicts
from tests.acceptance.soak.measurements import quantiles
from tests.acceptance.soak.plan import Plan
from tests.acceptance.soak.soak import Soak
from tests.acceptance.soak.verdicts import Verdict

mpl.use("svg")
from matplotlib import pyplot as plt  # the backend is chosen before

_POINTS_MAX = 400


def judge(plan: Plan, soak: Soak) -> list[Verdict]:
    """All promises of a run that came to its end."""
    watch, good = soak.product.watch, soak.product.good_targets
    judged = [
        *verdicts.freshness(soak.measured),
        *verdicts.collected(watch.ups, good, watch.downs),
        *verdicts.memory(soak.measured, plan),
        *verdicts.pages(watch.critical_ns, soak.product.receivers.good.critical_ns, soak.ended_ns),
        *verdicts.outcomes(watch.outcomes),
        *verdicts.stops(soak.product.stops_s),
    ]
    balances = {stage: report.balance for stage, report in watch.reports.items() if report.balance}
    text = f"{', '.join(sorted(watch.reports))}: {balances or 'all 0'}"
    judged.append(Verdict("each sample is accounted for", text, not balances))
    judged.append(Verdict("the bus loses nothing to a reader", ", ".join(watch.gaps) or "no gap", not watch.gaps))
    return judged


def table(judged: Sequence[Verdict]) -> Table:
    drawn = Table(title="What was promised, and what was measured")
    for heading in ("promise", "measured", ""):
        drawn.add_column(heading, overflow="fold")
    for one in judged:
        status = "not judged: too short" if one.kept is None else "ok" if one.kept else "FAIL"
        drawn.add_row(one.promise, one.measured, status, style="red" if one.kept is False else None)
    return drawn


def notes(soak: Soak) -> Iterator[str]:
    """What is reported and not judged."""
    measured, watch = soak.measured, soak.product.watch
    for name, phase in (("alone", measured.alone), ("beside hostile ones", measured.beside)):
        p50_s, p99_s = quantiles(phase.delays_s)
        yield (
            f"{name}: {phase.seconds} s measured; from collection to this consumer "
            f"p50 {1000 * p50_s:,.0f} ms, p99 {1000 * p99_s:,.0f} ms"
        )
    recoveries = ", ".join(f"{one:.0f} s" for one in measured.recoveries_s) or "none"
    yield f"restarts of the broker, and how long after it was back all good targets were fresh: {recoveries}"
    yield f"hosts that lost their GPUs: {measured.faults}; incidents: {len(watch.incidents)}"
    for stage, dropped in watch.drops().items():
        shown = ", ".join(f"{reason} {count:,}" for reason, count in sorted(dropped.items())) or "nothing"
        yield f"dropped by {stage}: {shown}"
    delays_s = verdicts.delays(watch.critical_ns, soak.product.receivers.good.critical_ns)
    for one in watch.critical_ns:
        if delays_s.get(one, verdicts.PAGE_S_MAX + 1) > verdicts.PAGE_S_MAX:
            waited = f"{delays_s[one]:.1f} s later" if one in delays_s else "never"
            yield f"paged {waited}: {watch.incidents[one.incident_id].title}"
    asked = ", ".join(f"{name} {one.asked}" for name, one in soak.product.receivers.failing.items())
    yield f"requests to receivers that fail: {asked}"


def draw(soak: Soak, path: Path) -> None:
    """Ages of good targets above, resident memory of each stage below, over minutes."""
    measured = soak.measured
    figure, (ages, memory) = plt.subplots(2, 1, sharex=True, figsize=(9, 6), layout="constrained")
    thinned = measured.freshness[:: max(1, len(measured.freshness) // _POINTS_MAX)]
    minutes = [at_s / 60 for at_s, _, _ in thinned]
    ages.plot(minutes, [p50_s for _, p50_s, _ in thinned], label="p50")
    ages.plot(minutes, [p99_s for _, _, p99_s in thinned], label="p99")
    ages.set_ylabel("age of good targets [s]")
    for stage, points in measured.memory.items():
        fewer = points[:: max(1, len(points) // _POINTS_MAX)]
        memory.plot([at_s / 60 for at_s, _ in fewer], [mib for _, mib in fewer], label=stage)
    memory.set_ylabel("resident memory [MiB]")
    memory.set_xlabel("minutes")
    for axes in (ages, memory):
        axes.axvline(measured.hostile_from_s / 60, color="grey", linestyle=":")
        for began_s, ended_s in measured.outages_s:
            axes.axvspan(began_s / 60, ended_s / 60, color="lightgrey")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left", ncols=3, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
