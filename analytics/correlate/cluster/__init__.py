"""What correlation needs of the topology: what depends on what, which jobs run where, and how far a fault reaches."""
