"""Results of NVIDIA's nccl-tests: what collectives of this cluster reach when it is well."""
