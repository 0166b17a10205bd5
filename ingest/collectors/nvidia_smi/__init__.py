"""GPUs of hosts without DCGM: what ``nvidia-smi -q -x`` prints."""
