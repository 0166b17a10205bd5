"""Pipeline-parallel training: the hosts are stages in order, and each waits for its neighbours.

One forward, one backward (1F1B; Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC
2021): with p stages and m micro-batches a stage is idle for (p - 1)/(m + p - 1) of an iteration. The first stages hold
the activations of most micro-batches. Between stages go the activations of a micro-batch, an eighth on each rail
(section 4.1, scatter/gather): with a hidden size of 12288, 2048 tokens and four sequences 25 MB.
"""

import numpy as np

from simulator.compute.gpus import Gpus
from simulator.compute.jobs import Collective, JobRun
from simulator.compute.rings import QUEUE_PAIRS, Rings, nics_of_gpus
from simulator.compute.work.base import Resources
from simulator.compute.work.schedule import Progress, advance_stages
from simulator.fabric.parameters import GOODPUT
from simulator.fabric.state import Flags, Floats, Ints

STAGES_MAX = 8  # more hosts are more pipelines, of which each stage reduces its gradients over a ring
MICRO_BATCHES = 16
ACTIVATION_BYTES = 25e6
WEIGHTS_BYTES, ACTIVATIONS_BYTES = 42e9, 4e9  # memory of a GPU: weights and optimiser; of one micro-batch in flight


class Neighbours:
    """Queue pairs between the stages of one pipeline: [p - 1, R] to the next one, and back."""

    def __init__(self, resources: Resources, hosts: list[int]) -> None:
        layout, self._fabric = resources.layout, resources.fabric
        nics = nics_of_gpus(layout, hosts)
        low, high = nics[:-1], nics[1:]
        spread = np.arange(low.size)
        self.rows: Ints = np.stack(
            [
                self._fabric.add_flows(a.ravel(), b.ravel(), spread).reshape(low.shape)
                for a, b in ((low, high), (high, low))
            ]
        )
        resources.routes.route(self._fabric, self.rows.ravel())

    def begin(self) -> None:
        """Starts counting what arrives."""
        self._fabric.flows.delivered[self.rows] = 0.0

    def arrived(self) -> Ints:
        """[2, p - 1] micro-batches that have arrived, forward and backward."""
        least = self._fabric.flows.delivered[self.rows].min(axis=2)
        found: Ints = np.floor(least / ACTIVATION_BYTES + 1e-6).astype(np.int64)
        return found

    def send(self, forward: Ints, backward: Ints) -> None:
        """Queues micro-batches: [p] that each stage has computed in this step, forward and backward."""
        backlog = self._fabric.flows.backlog
        backlog[self.rows[0]] += ACTIVATION_BYTES * forward[:-1, None]
        backlog[self.rows[1]] += ACTIVATION_BYTES * backward[1:, None]

    def close(self) -> None:
        """Removes the flows."""
        self._fabric.remove_flows(self.rows.ravel())


class StageRings:
    """An all-reduce among the pipelines, of each stage for itself. One pipeline has nothing to reduce."""

    def __init__(self, resources: Resources, hosts: list[int], pipelines: list[Ints]) -> None:
        r = resources
        stages = min(len(p) for p in pipelines) if len(pipelines) > 1 else 0
        self._at = [[int(p[s]) for p in pipelines] for s in range(stages)]
        self._rings = [
            Rings(r.layout, r.fabric, r.routes, [hosts[i] for i in members], r.window) for members in self._at
        ]

    def begin(self, gradient: float) -> None:
        """Starts an all-reduce of ``gradient`` bytes a rail."""
        for ring in self._rings:
            ring.begin(gradient)

    def step(self, ready: Flags) -> bool:
        """Queues what the members ``ready`` [n, R] may send; True once every member has received everything."""
        done = [ring.step(ready[members]) for ring, members in zip(self._rings, self._at, strict=True)]
        return all(done) and bool(ready.all())

    def close(self) -> None:
        """Removes the flows."""
        for ring in self._rings:
            ring.close()


class PipelineTraining(JobRun):
    """Pipeline-parallel between hosts, tensor-parallel inside them: the slowest GPU of a host sets its pace."""

    flows_per_gpu = QUEUE_PAIRS + 2
    cyclic = False
    gradient_part = 1 / STAGES_MAX

    def _connect(self) -> Collective:
        hosts = self.members.hosts
        self._pipelines = np.array_split(np.arange(len(hosts)), -(-len(hosts) // STAGES_MAX))
        self._links = [Neighbours(self._resources, [hosts[i] for i in stages]) for stages in self._pipelines]
        fabric, nics = self._resources.fabric, nics_of_gpus(self._resources.layout, hosts[:1])
        sharing = nics.size // np.unique(nics).size  # GPUs of one NIC
        self._wire_s = sharing * ACTIVATION_BYTES / (GOODPUT * float(fabric.queues.rated[fabric.egress(0)]))
        self._progress = [Progress.of(len(stages)) for stages in self._pipelines]
        return StageRings(self._resources, hosts, self._pipelines)

    def close(self) -> None:
        for links in self._links:
            links.close()
        super().close()

    def _begin_iteration(self, gpus: Gpus) -> None:
        super()._begin_iteration(gpus)
        for stages in self._pipelines:
            in_flight = np.minimum(MICRO_BATCHES, len(stages) - np.arange(len(stages)))
            gpus.framebuffer[self.members.gpus[stages]] = WEIGHTS_BYTES + ACTIVATIONS_BYTES * in_flight[:, None]

    def _begin_compute(self) -> None:
        super()._begin_compute()
        slowest: Floats = self._left.max(axis=1) / MICRO_BATCHES
        for links, progress, stages in zip(self._links, self._progress, self._pipelines, strict=True):
            links.begin()
            progress.begin(slowest[stages])
        self._ready[:] = False

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        for links, progress, stages in zip(self._links, self._progress, self._pipelines, strict=True):
            forward, backward = progress.forward.copy(), progress.backward.copy()
            done = advance_stages(
                dt,
                self._wire_s,
                MICRO_BATCHES,
                self.members.gpus[stages],
                gpus.work_rate,
                gpus.hung,
                progress,
                links.arrived(),
                gpus.spent,
            )
            links.send(progress.forward - forward, progress.backward - backward)
            self._ready[stages] = done[:, None]
        return self._rings.step(self._ready)
