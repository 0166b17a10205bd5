"""WorkKind: the names of the kinds of work."""

from enum import StrEnum


class WorkKind(StrEnum):
    """What a job does. docs/simulator/work.md describes each."""

    DATA_PARALLEL = "data-parallel"
    OVERLAPPED = "overlapped"
    MIXTURE_OF_EXPERTS = "mixture-of-experts"
    PIPELINE = "pipeline"
    TENSOR_PARALLEL = "tensor-parallel"
    TREE = "tree"
    INFERENCE = "inference"
    RL_ROLLOUT = "rl-rollout"
    EVALUATION = "evaluation"
    NOTEBOOK = "notebook"
    PREPROCESSING = "preprocessing"
    SMALL = "small"
    SUB_NODE = "sub-node"
    MIG = "mig"
    IDLE = "idle"
