"""What each command does, loaded when it runs; ``arguments`` says what it accepts."""
