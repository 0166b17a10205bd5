"""Settings of the receiver of remote write."""

import pytest

from ingest.collectors.remote_write.config import Config

RULES = {"rules": [{"source": "dcgm"}]}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"host": "0.0.0.0"}, "reachable from elsewhere"),
        ({"host": "0.0.0.0", "bearer_token_file": "a"}, "reachable from elsewhere"),
        ({"host": "0.0.0.0", "tls": {"cert_file": "a", "key_file": "b"}}, "reachable from elsewhere"),
        ({"bearer_token_file": "a", "basic_auth": {"username": "a", "password_file": "b"}}, "either basic_auth or"),
        ({"rules": []}, "at least 1 item"),
        ({"rules": [{"source": "unheard_of"}]}, "source: nothing maps the names of 'unheard_of': expected one of amd"),
        ({"path": "write"}, "path"),
    ],
)
def test_settings_that_let_anybody_in_or_mean_nothing_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Config.model_validate(RULES | settings)
    Config.model_validate(RULES | {"host": "0.0.0.0", "trusted_network": True})
