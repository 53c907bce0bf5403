-- Deletes dead jobs above the number or the age that are kept, the oldest first.
-- KEYS[1] dead: the sorted set of dead jobs
-- ARGV[1] max_jobs: how many dead jobs are kept
-- ARGV[2] max_age: how many seconds they are kept
-- RETURNS: how many were deleted; at most 1,000, so there may be more
-- BUILDS: nothing
--- include lib/clock
--- include lib/dead
return trim_dead(KEYS[1], clock(), tonumber(ARGV[1]), tonumber(ARGV[2]))
