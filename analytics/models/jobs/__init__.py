"""What jobs do, seen one at a time: their pace, their checkpoints."""
