"""The version of the distribution, read by the build and published by every worker."""

VERSION = "0.1.0"
