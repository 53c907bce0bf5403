"""Mutation tests: faults are put into the product one at a time, and for each a test must fail."""
