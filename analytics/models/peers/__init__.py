"""Members of a job, rail, role, leaf or file system, compared with each other at the same moment."""
