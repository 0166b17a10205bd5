"""One process at a time publishes the outputs of a stage: how it becomes their owner, and how readers know it."""
