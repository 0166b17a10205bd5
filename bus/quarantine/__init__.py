"""What ends a stage twice is put aside, so that the stage can go on."""
