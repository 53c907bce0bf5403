"""An app with jobs of every kind, and a command that shows them at work."""
