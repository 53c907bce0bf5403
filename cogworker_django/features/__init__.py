"""What rides on the two middleware chains: unique jobs, status, history, the lock of periodic jobs.

May import `core` and `store`.
"""
