"""Paths that nothing maps, of jobs that keep them under their own name."""

import pytest

from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import Elements, elements_of, parse_path
from ingest.collectors.gnmi.paths.kept import kept
from ingest.collectors.gnmi.paths.naming import Naming
from tests.unit.ingest.gnmi.test_gnmi_decode import COUNTERS, NOW, OCTETS, notification, of_json, samples, updates

NOVELTIES = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Ethernet1"}'


def decoder(kept_max: int = 10) -> Decoder:
    return Decoder("gnmi/leaf1", "leaf1", Naming(("sonic", "openconfig"), kept_max))


def path(text: str) -> Elements:
    return elements_of(parse_path(text))


def texts(**values: str) -> bytes:
    made = notification()
    for leaf, value in values.items():
        made.update.update.add(path=parse_path(leaf.replace("_", "-"))).val.string_val = value
    return made.SerializeToString()


def deleted(leaf: str) -> bytes:
    made = notification()
    made.update.delete.add().CopyFrom(parse_path(leaf))
    return made.SerializeToString()


def test_an_unmapped_path_is_a_series_beside_the_mapped_ones() -> None:
    one = decoder()
    for value in (4, 5, 6):
        found = one.decode([updates(in_octets=1, in_novelties=value)], NOW)
        assert samples(found) == {OCTETS: 1.0, NOVELTIES: float(value)}
    assert (one.unmapped.count, one.unmapped.names) == (0, set())
    assert {each.name: each.canonical for each in one.source_series()}[COUNTERS + "/in-novelties"] == (NOVELTIES,)


def test_a_job_that_does_not_ask_keeps_none() -> None:
    one = decoder(kept_max=0)
    assert samples(one.decode([updates(in_octets=1, in_novelties=4)], NOW)) == {OCTETS: 1.0}
    assert one.unmapped.count == 1


def test_a_path_that_is_text_is_no_series_and_no_drop_until_it_is_a_number() -> None:
    one = decoder()
    for _ in range(2):
        found = one.decode([texts(in_novelties="none")], NOW)
        assert (found.table.keys, dict(found.drops), one.unmapped.count) == ((), {}, 1)
    assert samples(one.decode([updates(in_novelties=4)], NOW)) == {NOVELTIES: 4.0}
    assert dict(one.decode([texts(in_novelties="none")], NOW).drops) == {}
    assert one.unmapped.count == 0


def test_paths_above_the_limit_stay_unmapped_and_mapped_ones_are_unharmed() -> None:
    one = decoder(kept_max=1)
    for _ in range(2):
        found = one.decode([updates(in_novelties=4, in_curiosities=5, in_octets=1)], NOW)
        assert samples(found) == {NOVELTIES: 4.0, OCTETS: 1.0}
    assert one.unmapped.names == {"interfaces/interface/state/counters/in-curiosities"}
    assert one.refused == 0


def test_a_deleted_path_makes_room_and_comes_back() -> None:
    one = decoder(kept_max=1)
    one.decode([updates(in_novelties=4)], NOW)
    one.decode([deleted("in-novelties")], NOW)
    assert len(samples(one.decode([updates(in_curiosities=5)], NOW))) == 1
    assert samples(one.decode([updates(in_novelties=4)], NOW)) == {}


@pytest.mark.parametrize("port", ["Ethernet4", "Ethernet8"])
def test_documents_of_sonic_have_their_object_as_a_label(port: str) -> None:
    one = decoder(kept_max=100)
    body = {f"SAI_PORT_STAT_NOVELTY_{n}": str(n) for n in range(20)} | {"SAI_PORT_STAT_WORD": "none"}
    for _ in range(3):  # the second one makes the template
        found = samples(one.decode([of_json(f"COUNTERS/{port}", body)], NOW))
        assert len(found) == 20
        assert found[f'COUNTERS_SAI_PORT_STAT_NOVELTY_7{{device="leaf1",object="{port}"}}'] == 7.0
    assert one.unmapped.names == {"COUNTERS/…/SAI_PORT_STAT_WORD"}


def test_what_the_catalogue_leaves_out_is_kept_too() -> None:
    one = decoder()
    found = samples(one.decode([of_json("COUNTERS/Ethernet4", {"SAI_PORT_STAT_IP_IN_OCTETS": "4"})], NOW))
    assert found == {'COUNTERS_SAI_PORT_STAT_IP_IN_OCTETS{device="leaf1",object="Ethernet4"}': 4.0}
    assert (one.unmapped.count_left_out, one.unmapped.names_left_out) == (0, set())


@pytest.mark.parametrize(
    ("text", "name", "labels"),
    [
        ("/system/cpus/cpu[index=0]/state/idle", "system_cpus_cpu_state_idle", {"cpu_index": "0"}),
        ("/a.b/c-d[the-key=x y]/e:f", "a_b_c_d_e_f", {"c_d_the_key": "x y"}),
        ("/a[k=]/b", "a_b", {}),
        ("STATE_DB_TABLE/one/two/field", "STATE_DB_TABLE_field", {"object": "one/two"}),
    ],
)
def test_name_and_labels_are_those_of_the_path(text: str, name: str, labels: dict[str, str]) -> None:
    found = kept(path(text))
    assert found is not None
    assert (found.metric.name, found.labels) == (name, labels)


@pytest.mark.parametrize("text", ["/up", "/gpu_power_watts", "/fabricscope_x", "/4d/x", "/a/4b[k=v]/c"])
def test_names_that_mean_something_else_or_are_none_are_not_kept(text: str) -> None:
    assert kept(path(text)) is None
