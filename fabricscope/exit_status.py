"""What the status of a process that ended says."""

FAILED = 1  # what the operator or a peer got wrong, with one plain message
SUPERSEDED = 3  # a newer process does its work: whoever supervises it must not start it again; 2 is Typer's
