"""The job queues side by side, and our own figures against their marks. README.md tells how."""
