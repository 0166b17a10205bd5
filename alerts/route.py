"""Which receivers are notified: those of the first route whose matchers fit the alert's labels."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from alerts.matcher import Matcher, all_match


class Route(BaseModel):
    """Alerts that fit all ``matchers`` go to ``receivers``; without receivers nobody is notified."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    matchers: tuple[Matcher, ...] = Field(default=(), description="All must fit; none fits everything.")
    receivers: tuple[str, ...] = Field(description="Names of receivers.")


def receivers_for(
    routes: Sequence[Route], default_receivers: Sequence[str], labels: Mapping[str, str]
) -> tuple[str, ...]:
    """Sorted names. What fits no route goes to the default receivers: a page that nobody routed is better sent to too
    many than to nobody."""
    for route in routes:
        if all_match(route.matchers, labels):
            return tuple(sorted(set(route.receivers)))
    return tuple(sorted(default_receivers))
