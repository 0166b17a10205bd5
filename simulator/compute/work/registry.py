"""``WORK``: the class of each kind of work but idle, which is none, and the flows that a mix of them needs."""

from simulator.compute.jobs import JobRun
from simulator.compute.work.base import Work
from simulator.compute.work.experts import ExpertTraining
from simulator.compute.work.inference import Evaluation, Inference
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.local import SmallJob, SubNodeJob
from simulator.compute.work.overlapped import OverlappedTraining
from simulator.compute.work.pipeline import PipelineTraining
from simulator.compute.work.preprocessing import Preprocessing
from simulator.compute.work.rollout import RlTraining
from simulator.compute.work.shared import Notebook, PartitionedGpu
from simulator.compute.work.tensor_parallel import TensorParallelTraining
from simulator.compute.work.tree import TreeTraining
from simulator.config import JobMix

WORK: dict[WorkKind, type[Work]] = {
    WorkKind.DATA_PARALLEL: JobRun,
    WorkKind.OVERLAPPED: OverlappedTraining,
    WorkKind.MIXTURE_OF_EXPERTS: ExpertTraining,
    WorkKind.PIPELINE: PipelineTraining,
    WorkKind.TENSOR_PARALLEL: TensorParallelTraining,
    WorkKind.TREE: TreeTraining,
    WorkKind.INFERENCE: Inference,
    WorkKind.RL_ROLLOUT: RlTraining,
    WorkKind.EVALUATION: Evaluation,
    WorkKind.NOTEBOOK: Notebook,
    WorkKind.PREPROCESSING: Preprocessing,
    WorkKind.SMALL: SmallJob,
    WorkKind.SUB_NODE: SubNodeJob,
    WorkKind.MIG: PartitionedGpu,
}


def flows_per_gpu(mix: JobMix) -> int:
    """Rows of the flow table for each GPU, enough for every kind of the mix."""
    return max((WORK[kind].flows_per_gpu for kind in mix.kinds if kind is not WorkKind.IDLE), default=0)
