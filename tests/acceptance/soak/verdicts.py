"""What was promised, what was measured, and whether it was kept. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from common.units import NS_PER_S
from tests.acceptance.soak.kinds import KINDS
from tests.acceptance.soak.measurements import Measurements, growth, quantiles
from tests.acceptance.soak.plan import Plan
from tests.acceptance.soak.watch import Critical

AGE_GROWTH_MAX = 0.10
MEMORY_GROWTH_MAX = 0.05  # of the level, by the straight line through all points after the warm-up
MEMORY_JUDGED_S = 300.0  # less than this after the warm-up shows no line
PAGE_S_MAX = 5.0
STOP_S_MAX = 30.0  # Kubernetes ends what takes longer
_TAIL_S = 10.0  # a page may still be on its way at the end


@dataclass(frozen=True, slots=True)
class Verdict:
    """kept: None when the run is too short to say."""

    promise: str
    measured: str
    kept: bool | None


def freshness(of: Measurements) -> Iterator[Verdict]:
    for name, before, now in zip(("p50", "p99"), quantiles(of.alone.ages_s), quantiles(of.beside.ages_s), strict=True):
        text = f"{1000 * before:,.0f} ms alone, {1000 * now:,.0f} ms beside hostile ones ({now / before - 1:+.1%})"
        yield Verdict(f"age of good targets, {name}, within {AGE_GROWTH_MAX:.0%}", text, now <= before * 1.1)


def memory(of: Measurements, plan: Plan) -> Iterator[Verdict]:
    from_s = of.hostile_from_s + plan.warm_up_s
    for stage, points in of.memory.items():
        promise = f"memory of {stage} is level after {plan.warm_up_s / 60:.0f} min"
        now = f"{points[-1][1]:,.0f} MiB" if points else "nothing"
        found = growth(points, from_s)
        if found is None or points[-1][0] - from_s < MEMORY_JUDGED_S:
            early = growth(points, of.hostile_from_s + (points[-1][0] - of.hostile_from_s) / 2) if points else None
            slope = f", {early[0]:+,.0f} MiB/h in the second half" if early else ""
            yield Verdict(promise, f"{now}{slope}", None)
        else:
            yield Verdict(promise, f"{now}, {found[0]:+,.1f} MiB/h", found[1] <= MEMORY_GROWTH_MAX)


def outcomes(found: Mapping[str, Mapping[str, int]]) -> Iterator[Verdict]:
    for kind in KINDS:
        ended = found.get(kind.name, {})
        text = ", ".join(f"{reason} {count:,}" for reason, count in sorted(ended.items(), key=lambda one: -one[1]))
        yield Verdict(f"{kind.name} ends as {kind.outcome}", text or "never collected", ended.get(kind.outcome, 0) > 0)


def delays(critical_ns: Mapping[Critical, int], notified_ns: Mapping[str, Sequence[int]]) -> dict[Critical, float]:
    """Seconds until the next notification that says so; without those that nobody was notified of since."""
    later = {one: [at for at in notified_ns.get(one.incident_id, ()) if at >= critical_ns[one]] for one in critical_ns}
    return {one: (min(after) - critical_ns[one]) / NS_PER_S for one, after in later.items() if after}


def pages(
    critical_ns: Mapping[Critical, int], notified_ns: Mapping[str, Sequence[int]], now_ns: int
) -> Iterator[Verdict]:
    delays_s = delays(critical_ns, notified_ns)
    overdue = now_ns - _TAIL_S * NS_PER_S
    missed = [one for one, at_ns in critical_ns.items() if one not in delays_s and at_ns < overdue]
    p50_s, _ = quantiles(list(delays_s.values()))
    longest_s = max(delays_s.values(), default=float("nan"))
    back = len(critical_ns) - len({one.incident_id for one in critical_ns})
    paged = f"{len(delays_s)} of {len(critical_ns)} paged, {back} of them came back"
    text = f"{paged}; p50 {p50_s:.2f} s, longest {longest_s:.2f} s"
    kept = bool(delays_s) and not missed and longest_s <= PAGE_S_MAX
    yield Verdict(f"each critical incident is paged within {PAGE_S_MAX:.0f} s", text, kept)


def collected(ups: Mapping[str, int], good: int, downs: Mapping[str, int]) -> Iterator[Verdict]:
    failed = ", ".join(f"{reason} {count}" for reason, count in sorted(downs.items())) or "none failed"
    text = f"{len(ups)} of {good} targets, {sum(ups.values()):,} collections; {failed}"
    yield Verdict("good targets are never down", text, len(ups) == good and not downs)


def stops(took_s: Mapping[str, float | None]) -> Iterator[Verdict]:
    text = ", ".join(f"{stage} {'killed' if each is None else f'{each:.1f} s'}" for stage, each in took_s.items())
    kept = bool(took_s) and all(each is not None and each <= STOP_S_MAX for each in took_s.values())
    yield Verdict(f"each stage ends in order within {STOP_S_MAX:.0f} s of SIGTERM", text, kept)
