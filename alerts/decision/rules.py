"""What the settings say about decisions."""

from dataclasses import dataclass

from alerts.config import AlertingConfig
from alerts.decision.budget import BudgetRules
from alerts.decision.lifecycle import Policy
from alerts.route import Route
from common.units import to_ns


@dataclass(frozen=True, slots=True)
class Rules:
    """cluster: label of every alert. receivers: names of all. default_receivers: for what no route fits.
    budget: how many pages (FIRE) at most; the rest wait, worst first.
    remember_ns: how long a resolved incident is known, so that a late repetition of an old version is recognised.
    incidents_max: incidents known at a time, beside those with an open page, which the page budget bounds.
    """

    cluster: str
    receivers: frozenset[str]
    default_receivers: tuple[str, ...]
    routes: tuple[Route, ...]
    policy: Policy
    budget: BudgetRules
    remember_ns: int
    incidents_max: int


def rules_of(config: AlertingConfig) -> Rules:
    """The part of the settings that decides, with its defaults filled in. Times are in nanoseconds."""
    names = frozenset(receiver.name for receiver in config.receivers)
    reserve = config.pages_max // 4 if config.pages_critical_reserve is None else config.pages_critical_reserve
    return Rules(
        cluster=config.cluster,
        receivers=names,
        # a fallback stands by, unless it is all there is
        default_receivers=tuple(sorted(names - {config.fallback} or names)),
        routes=config.routes,
        policy=Policy(to_ns(config.quiet_s), to_ns(config.critical_quiet_s), to_ns(config.update_quiet_s)),
        budget=BudgetRules(config.pages_max, reserve, to_ns(config.pages_window_s)),
        remember_ns=to_ns(config.remember_s),
        incidents_max=config.incidents_max,
    )
