"""Stages as processes: started, watched, reloaded and stopped."""
