"""What each command does, loaded when it runs; ``arguments`` declares what it accepts."""
