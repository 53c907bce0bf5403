"""What runs in the peers' processes, the same for all: jobs, their completion log, client, settings."""
