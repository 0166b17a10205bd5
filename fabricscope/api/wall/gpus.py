"""Which GPUs there are: those that are recorded, and of hosts of which none is recorded those that send samples."""

from collections.abc import Iterable, Mapping, Sequence

from fabricscope.api.wall.newest import KEPT_NS, parse_labels
from telemetry.samples import SampleBatch
from telemetry.topology import UNKNOWN_INDEX, Gpu, Topology

GPU_INFO = "gpu_info"
_Of = Mapping[tuple[str, str], int]  # index by device and UUID


class KnownGpus:
    """What analytics infers of a host without recorded GPUs (docs/missing-sources.md) the page infers in the same way.

    metrics: whose series are about GPUs that count. Names are parsed when a target's series change, at no other time.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self._metrics = frozenset((*metrics, GPU_INFO))
        self._seen: dict[str, tuple[bytes, int, _Of]] = {}  # digest, newest collection and GPUs of each target
        self._known: tuple[Topology, Sequence[Gpu]] | None = None

    def add(self, batch: SampleBatch) -> None:
        if not len(batch):
            return
        table, at_ns = batch.table, batch.collection.collected_ns
        digest, _, gpus = self._seen.get(table.target, (b"", 0, {}))
        if digest != table.digest:
            gpus = self._gpus_of(table.keys)
            kept = {name: one for name, one in self._seen.items() if one[1] >= at_ns - KEPT_NS}
            self._seen, self._known = kept, None
        self._seen[table.target] = table.digest, at_ns, gpus

    def of(self, topology: Topology) -> Sequence[Gpu]:
        known = self._known
        if known is None or known[0] is not topology:
            recorded = topology.entities(Gpu)
            hosts = {gpu.device for gpu in recorded}
            seen: dict[tuple[str, str], int] = {}
            for _, _, gpus in list(self._seen.values()):
                seen |= {gpu: max(index, seen.get(gpu, UNKNOWN_INDEX)) for gpu, index in gpus.items()}
            inferred = [Gpu(*gpu, index) for gpu, index in sorted(seen.items()) if gpu[0] not in hosts]
            known = self._known = topology, [*recorded, *inferred]
        return known[1]

    def _gpus_of(self, keys: Iterable[str]) -> _Of:
        found: dict[tuple[str, str], int] = {}
        for key in keys:
            if key.partition("{")[0] not in self._metrics:
                continue
            _, labels = parse_labels(key)
            if (gpu := (labels.get("device", ""), labels.get("gpu", ""))) and all(gpu):
                number = labels.get("index", "")
                index = int(number) if number.isdecimal() else UNKNOWN_INDEX
                found[gpu] = max(index, found.get(gpu, UNKNOWN_INDEX))
        return found
