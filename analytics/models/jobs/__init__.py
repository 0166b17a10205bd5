"""The activity of single jobs: their work level and their checkpoints."""
