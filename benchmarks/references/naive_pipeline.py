"""The reference of end to end: the usual parsers, JSON for each sample, a Python object for each series."""

import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from telemetry.gnmi import gnmi_pb2


class _Average:
    """Exponentially weighted mean and variance of one series."""

    __slots__ = ("mean", "variance")

    def __init__(self, value: float) -> None:
        self.mean, self.variance = value, 0.0

    def update(self, value: float) -> float:
        """Learns a value; returns its score before."""
        step = value - self.mean
        score = abs(step) / math.sqrt(self.variance) if self.variance > 0 else 0.0
        self.mean += 0.01 * step
        self.variance = 0.99 * (self.variance + 0.01 * step * step)
        return score


def values_per_cpu_second(pages: Sequence[bytes], messages: Sequence[bytes] = (), for_s: float = 3.0) -> float:
    """Parse, encode, decode, learn: no network, no jitter, no limits, no ledger; every line and every field counts.

    messages: gNMI's SubscribeResponses. All pages and messages are one round; only complete rounds count.
    """
    state: dict[str, _Average] = {}
    values, began = 0, time.process_time()
    while (spent := time.process_time() - began) < for_s or not values:
        for encoded in (*map(_encode, pages), *map(_encode_message, messages)):
            for message in encoded:
                _learn(state, message)
            values += len(encoded)
    return values / spent


def values_of(messages: Sequence[bytes]) -> int:
    return sum(len(_encode_message(message)) for message in messages)


def _encode(page: bytes) -> list[bytes]:
    families = text_string_to_metric_families(page.decode())
    return [
        json.dumps({"name": sample.name, "labels": sample.labels, "value": sample.value}).encode()
        for family in families
        for sample in family.samples
    ]


def _encode_message(message: bytes) -> list[bytes]:
    update = gnmi_pb2.SubscribeResponse.FromString(message).update
    return [
        json.dumps({"name": name, "labels": labels, "value": value}).encode()
        for one in update.update
        for name, labels, value in _leaves(update.prefix, one)
    ]


def _leaves(prefix: gnmi_pb2.Path, update: gnmi_pb2.Update) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name, labels and number of each leaf; texts are 0."""
    elems = [*prefix.elem, *update.path.elem]
    name = "/".join(elem.name for elem in elems)
    labels = {f"{elem.name}_{key}": value for elem in elems for key, value in elem.key.items()}
    kind = update.val.WhichOneof("value") or "uint_val"
    value = getattr(update.val, kind)
    if kind not in ("json_val", "json_ietf_val"):
        yield name, labels, _number(value)
        return
    for row, fields in json.loads(value).items():
        for field, text in fields.items():
            yield f"{name}/{field}", {**labels, "row": row}, _number(text)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _learn(state: dict[str, _Average], message: bytes) -> None:
    record = json.loads(message)
    key = record["name"] + json.dumps(record["labels"], sort_keys=True)
    known = state.get(key)
    if known is None:
        state[key] = _Average(record["value"])
    else:
        known.update(record["value"])
