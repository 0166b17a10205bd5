"""What a family names and the simulator lacks is an error with the family, the part and what there is."""

import pytest

from common.errors import ConfigError
from evaluation.families import parts
from evaluation.families.family import Family, FaultChoice
from simulator.config import JobMix
from simulator.wiring import build_layout

PLAIN = Family(name="plain", stands_for="a test", faults=FaultChoice(kinds=("xid",)))


def test_a_family_of_parts_that_exist_passes() -> None:
    parts.check([PLAIN])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conditions": ("rain",)}, "family plain: .*rain"),
        ({"work": ("gaming",)}, "family plain: .*gaming"),
        ({"shape": "moebius"}, "family plain: .*moebius"),
        ({"boot_s": (-1.0, 5.0)}, "family plain: boot_s = .*expected the shortest and the longest time"),
        ({"collection": "by-post"}, "family plain: no collection 'by-post': no preset 'by-post', expected some"),
        (
            {"faults": FaultChoice(kinds=("xid", "gnomes"))},
            "family plain: no fault gnomes, expected some of .*incast",
        ),
    ],
)
def test_a_missing_part_is_named_with_its_family(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parts.check([PLAIN.model_copy(update=changes)])


def test_all_that_is_missing_is_said_at_once() -> None:
    lacking = [PLAIN.model_copy(update={"name": name, "shape": "moebius"}) for name in ("one", "two")]
    with pytest.raises(ConfigError) as caught:
        parts.check([*lacking, PLAIN])
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["family one", "family two"]


def test_intermittent_and_silent_faults_are_asked_of_the_simulator() -> None:
    choice = FaultChoice(kinds=("xid",), on_s=(1.0, 2.0), off_s=(3.0, 4.0), silent=True)
    assert parts.how(choice, 1.5, 3.5) == {"on_s": 1.5, "off_s": 3.5, "silent": True}
    assert parts.how(FaultChoice(kinds=("xid",)), 0.0, 0.0) == {}


def test_a_plain_family_has_the_cluster_of_today() -> None:
    config = parts.cluster_config(PLAIN, JobMix(jobs=1), seed=3, interval_s=10.0, step_ms=50)
    assert (config.hosts, config.seed, config.jobs) == (8, 3, JobMix(jobs=1))


def test_evidence_is_as_far_apart_as_the_slowest_collection_of_its_group() -> None:
    mixed = PLAIN.model_copy(update={"collection": "mixed-intervals"})
    assert [parts.evidence_s(mixed, group, 10.0) for group in ("node", "dcgm", "ports")] == [60.0, 30.0, 10.0]
    assert parts.evidence_s(PLAIN, "node", 10.0) == 10.0


@pytest.mark.parametrize("shape", ["two-tier", "infiniband"])
def test_pods_have_the_bandwidth_of_their_hosts_towards_the_others(shape: str) -> None:
    family = PLAIN.model_copy(update={"shape": shape, "hosts": 128})
    config = parts.with_pods(parts.cluster_config(family, JobMix(), seed=3, interval_s=10.0, step_ms=50), 32)
    assert (config.pod_hosts, config.leaves_per_pod, config.spine_count) == (32, 8, 16)
    up_gbps = sum(link.bits_per_second for link in build_layout(config).links if link.a_device == "leaf1") / 1e9
    assert up_gbps == 32 * config.nic_gbps + 16 * parts.SPINE_GBPS
    assert config.spine_count * config.uplink_bits_per_second == 32 * config.nic_gbps * 1e9


@pytest.mark.parametrize(("shape", "hosts"), [("two-tier", 32), ("rail-only", 64), ("oversubscribed", 64)])
def test_other_clusters_have_the_pods_of_the_simulator(shape: str, hosts: int) -> None:
    family = PLAIN.model_copy(update={"shape": shape, "hosts": hosts})
    config = parts.cluster_config(family, JobMix(), seed=3, interval_s=10.0, step_ms=50)
    assert parts.with_pods(config, 32) == config
