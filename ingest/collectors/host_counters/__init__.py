"""RDMA counters in sysfs and ethtool statistics of a host."""
