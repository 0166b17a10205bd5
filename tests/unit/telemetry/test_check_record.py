"""A record is checked as those who read its topic would."""

import pytest

from common.errors import BadInput
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.check import check_record
from telemetry.codec.records import encode_record
from tests.unit.alerts.incident_factory import incident
from tests.unit.recordings.small_recording import CHANGE, LEAF, batch

VALUE, HEADERS = encode_batch(batch(0))


@pytest.mark.parametrize(
    ("topic", "value", "headers"),
    [
        (topics.SAMPLES, VALUE, HEADERS),
        (topics.TOPOLOGY, encode_record(LEAF), {}),
        (topics.TOPOLOGY, None, {}),
        (topics.CHANGES, encode_record(CHANGE), {}),
        (topics.INCIDENTS, encode_record(incident()), {}),
    ],
)
def test_what_can_be_decoded_passes(topic, value, headers):
    check_record(topic, value, headers)


@pytest.mark.parametrize(
    ("topic", "value", "headers"),
    [
        (topics.SAMPLES, VALUE[:-1] + b"!", HEADERS),
        (topics.SAMPLES, None, HEADERS),
        (topics.CHANGES, None, {}),
        (topics.DEADLETTER, b"{}", {}),
        *((topic, b"{}", {}) for topic in topics.ALL if topic not in (topics.SAMPLES, topics.DEADLETTER)),
    ],
)
def test_what_cannot_be_decoded_is_refused(topic, value, headers):
    with pytest.raises(BadInput):
        check_record(topic, value, headers)
