"""GPUs of the host itself: what NVML, the library of NVIDIA's driver, states of them."""
