"""The tables of the demonstration."""
