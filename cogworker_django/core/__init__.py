"""What a job is, and the rules about it: payloads, arguments, options, times, retries, names, errors.

Pure: nothing in this room reads or writes anything outside the process, and it imports neither Django nor
Redis nor any other room. What varies (clocks, random numbers, settings) is handed in.
"""
