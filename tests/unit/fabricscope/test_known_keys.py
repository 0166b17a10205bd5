"""Whoever misspells a key of the settings sees the one that is like it, wherever it stands."""

import pytest

from fabricscope.known_keys import similar_key
from fabricscope.settings import OF_INGEST, Settings


@pytest.mark.parametrize(
    ("where", "key"),
    [
        (("scrape_config",), "scrape_configs"),  # a section of ingest, at the top
        (("globl",), "global"),  # by the name that it has in the file
        (("ingest", "publish", "spool", "foldr"), "folder"),
        (("ingest", "gnmi_configs", 0, "targets", 3, "adress"), "address"),
        (("ingest", "scrape_configs", 0, "tls_config", "ca_fil"), "ca_file"),
        (("alerting", "receivers", 0, "webhook", "ulr"), "url"),
        (("metrics", 0, "knd"), "kind"),
        (("recording", "pth"), "path"),  # of a section that may be absent
        (("zzzzqq",), None),
        (("ingest", "gnmi_configs", 0, "scrape_config"), None),  # those of the top stand there alone
        (("ingest", "scrape_configs", 0, "interval_s"), "scrape_interval"),
        (("ingest", "scrape_configs", 0, "jobname"), "job_name"),
        (("ingest", "scrape_configs", 0, "relable_config"), "relabel_configs"),
        # Keys of Prometheus: a word that no key has is no misspelling, and another rule does something else.
        (("ingest", "scrape_configs", 0, "metric_relabel_configs"), None),
        (("ingest", "scrape_configs", 0, "metrics_relabel_config"), None),
        (("ingest", "scrape_configs", 0, "kubernetes_sd_configs"), None),
        (("ingest", "scrape_configs", 0, "consul_sd_configs"), None),
        (("ingest", "scrape_configs", 0, "sample_limit"), None),
        (("ingest", "job_sources", 0, "relabel_configs"), None),
        (("metric_relabel_configs",), None),
        (("remote_read",), None),
    ],
)
def test_the_key_that_was_meant(where: tuple[str | int, ...], key: str | None) -> None:
    assert similar_key(Settings, where, OF_INGEST) == key


@pytest.mark.parametrize(("alternative", "key"), [("webhook", "secret_file"), ("alertmanager", None)])
def test_the_keys_of_another_alternative_are_not_meant(alternative: str, key: str | None) -> None:
    assert similar_key(Settings, ("alerting", "receivers", 0, alternative, "secret_fil")) == key
