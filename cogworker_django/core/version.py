"""The version of the distribution, read by the build and published by every worker."""

__version__ = "0.1.0"
