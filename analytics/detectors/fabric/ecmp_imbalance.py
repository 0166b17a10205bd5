"""ECMP imbalance: the uplinks of one leaf carry very different loads, so that some congest while others idle."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, Verdicts, computed_evidence
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key

# Coefficient of variation. n flows hashed onto m links vary by sqrt((m - 1)/n): 0.3 is 33 flows on 4 links. Fabrics
# with few large flows have more, so it must also be three times the normal of this leaf.
_VARIATION_MAX, _TIMES_OWN = 0.3, 3.0
_LOAD_MIN = 0.1  # of the links' speed: below that no traffic waits
_UPLINKS_MIN = 2


@dataclass(frozen=True, kw_only=True)
class EcmpImbalance(Detector):
    """Judges the uplinks of each leaf that are up; those that are down have findings of their own."""

    bits_per_second: float
    name: str = "ecmp_imbalance"
    kind: FindingKind = FindingKind.ECMP_IMBALANCE
    metrics: tuple[str, ...] = ("fabric_port_transmit_bytes_total", "fabric_port_up")
    persist: int = 3
    fire_immediately_score: float = 5.0
    memory: tuple[MemoryColumn, ...] = LEVEL

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        leaves_of = view.topology_index.uplink_leaf
        sent, up = view.column(self.metrics[0]), view.column(self.metrics[1])
        down = np.isin(sent.objects, up.objects[up.values == 0])
        sent = sent.only(sent.fresh & (leaves_of[sent.objects] >= 0) & ~down)
        rated = view.topology_index.speed_rating[sent.objects]
        load = 8 * sent.values / np.where(rated > 0, rated, self.bits_per_second)
        leaves, first, at, size = np.unique(
            leaves_of[sent.objects], return_index=True, return_inverse=True, return_counts=True
        )
        mean = np.bincount(at, load, leaves.size) / size
        deviation = np.sqrt(np.bincount(at, (load - mean[at]) ** 2, leaves.size) / size)
        judged = (mean >= _LOAD_MIN) & (size >= _UPLINKS_MIN)
        variation = np.where(judged, deviation / np.fmax(mean, 1e-9), 0.0)
        # Learned in the memory of each leaf's first uplink.
        usual = learned_level(view, memory, sent.only(first), np.where(judged, variation, np.nan))
        score = np.nan_to_num(variation / np.maximum(_VARIATION_MAX, _TIMES_OWN * usual))
        names = [view.index.objects.names[leaf].partition(":")[2] for leaf in leaves.tolist()]

        def key(row: int) -> str:
            return series_key("uplink_load_variation", {"device": names[row]})

        evidence = computed_evidence(variation, usual, "ratio", key)
        newest_ns = np.zeros(leaves.size, np.int64)
        np.maximum.at(newest_ns, at, sent.times_ns)
        every_s = np.zeros(leaves.size)
        np.maximum.at(every_s, at, view.cadence_of(sent.sids))
        return [Verdicts(leaves, newest_ns, score >= 1.0, score, (evidence,), 0.7, cadence_s=every_s)]
