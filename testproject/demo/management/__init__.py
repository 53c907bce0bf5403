"""The command of the demonstration."""
