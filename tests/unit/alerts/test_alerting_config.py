"""Settings of the stage, and the rules that they become."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from alerts.config import AlertingConfig
from alerts.decision.budget import BudgetRules
from alerts.decision.lifecycle import Policy
from alerts.decision.rules import rules_of
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.registry import ReceiverConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.route import Route

S = 1_000_000_000
ROOT = Path(__file__).parents[3]


def hook(name: str) -> WebhookConfig:
    return WebhookConfig(name=name, url="http://a")


def test_the_rules_are_the_settings_in_nanoseconds():
    rules = rules_of(
        AlertingConfig(
            cluster="pod1",
            receivers=(hook("b"), hook("a")),
            quiet_s=0.1,
            critical_quiet_s=1,
            update_quiet_s=2,
            pages_max=3,
            pages_critical_reserve=1,
            pages_window_s=4,
            remember_s=60.5,
            incidents_max=6,
        )
    )
    assert (rules.cluster, rules.receivers, rules.default_receivers) == ("pod1", frozenset("ab"), ("a", "b"))
    assert rules.policy == Policy(quiet_ns=S // 10, critical_quiet_ns=S, update_quiet_ns=2 * S)
    assert (rules.budget, rules.incidents_max) == (BudgetRules(3, 1, 4 * S), 6)
    assert rules.remember_ns == 60_500_000_000


@pytest.mark.parametrize(
    ("names", "fallback", "default"),
    [(("a", "b"), "", ("a", "b")), (("a", "b"), "b", ("a",)), (("b",), "b", ("b",)), ((), "", ())],
)
def test_a_fallback_stands_by_unless_it_is_all_there_is(names, fallback, default):
    config = AlertingConfig(receivers=tuple(map(hook, names)), fallback=fallback)
    assert rules_of(config).default_receivers == default


@pytest.mark.parametrize(("pages_max", "reserve"), [(20, 5), (4, 1), (3, 0), (1, 0)])
def test_a_quarter_of_the_pages_is_for_critical_incidents_unless_it_is_given(pages_max, reserve):
    assert rules_of(AlertingConfig(pages_max=pages_max)).budget.critical_reserve == reserve
    given = AlertingConfig(pages_max=pages_max, pages_critical_reserve=0)
    assert rules_of(given).budget.critical_reserve == 0


def test_the_reserve_leaves_pages_for_the_others():
    with pytest.raises(ValidationError, match=r"pages_critical_reserve: must be less than pages_max \(5\)"):
        AlertingConfig(pages_max=5, pages_critical_reserve=5)


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"pages_max": 0}, "pages_max"),
        ({"retry_first_s": 0}, "retry_first_s"),
        ({"retry_most_s": 3601}, "retry_most_s"),
        ({"remember_s": 59}, "remember_s"),
        ({"external_url": "me"}, "external_url"),
        ({"receivers": [{"type": "pigeon"}]}, "receivers.0"),
        ({"receivers": [{"type": "webhook", "url": "ftp://a"}]}, "receivers.0.webhook.url"),
        ({"receivers": [{"type": "webhook", "url": "http://a", "name": "two words"}]}, "receivers.0.webhook.name"),
        (
            {"receivers": [{"type": "alertmanager", "url": "http://a", "hold_s": 299}]},
            "receivers.0.alertmanager.hold_s",
        ),
        ({"quiet": 1}, "quiet"),
    ],
)
def test_what_cannot_work_is_refused_by_its_key(settings, where):
    with pytest.raises(ValidationError) as refusal:
        AlertingConfig.model_validate(settings)
    (error,) = refusal.value.errors()
    assert ".".join(map(str, error["loc"])) == where


def test_an_address_is_never_shown():
    assert "canary" not in repr(WebhookConfig(url="http://a/canary"))


def test_settings_load_nothing_that_sends():
    code = "import sys, alerts.config; assert not {'aiohttp', 'stamina', 'numba'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_receiver_is_in_the_registry_and_in_the_document():
    kinds = {config.model_fields["type"].default for config in get_args(get_args(ReceiverConfig)[0])}
    assert kinds == {path.parent.name for path in ROOT.glob("alerts/receivers/*/config.py")}
    document = (ROOT / "docs" / "alerts.md").read_text()
    assert {kind for kind in kinds if f"(../alerts/receivers/{kind}/README.md)" not in document} == set()


def test_settings_that_cannot_work_are_refused():
    am = AlertmanagerConfig(name="am", url="http://a")
    with pytest.raises(ValidationError, match="same name"):
        AlertingConfig(receivers=(am, am))
    with pytest.raises(ValidationError, match="no receiver is called oncall; there are: am"):
        AlertingConfig(receivers=(am,), routes=(Route(receivers=("oncall",)),))
    with pytest.raises(ValidationError, match="no receiver is called spare"):
        AlertingConfig(receivers=(am,), fallback="spare")
    with pytest.raises(ValidationError, match="either url or url_file"):
        WebhookConfig()
    both = AlertingConfig(receivers=(am, WebhookConfig(name="b", url="http://b")), fallback="b")
    assert rules_of(both).default_receivers == ("am",)


def test_settings_read_from_yaml_shapes():
    raw = {"receivers": [{"type": "webhook", "url_file": "/run/secrets/hook"}], "folder": "x"}
    config = AlertingConfig.model_validate(raw)
    assert config.receivers[0] == WebhookConfig(url_file=Path("/run/secrets/hook"))
