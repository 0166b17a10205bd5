"""What running jobs do: activity, checkpoints, lost GPU time."""
