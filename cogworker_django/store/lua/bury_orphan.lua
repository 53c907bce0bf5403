-- Files a job that was orphaned too often in dead, if it is still the first of the waiting ones; it counts as failed.
-- KEYS[1] repeat: the list of jobs that wait to be buried
-- KEYS[2] dead: the sorted set
-- KEYS[3] counter: the job's orphan counter
-- KEYS[4] failed: the counter of all failures
-- KEYS[5] nothing: a key that never exists
-- ARGV[1] job: the raw job as it waits
-- ARGV[2] score: time of death
-- ARGV[3] entry: what is filed
-- ARGV[4] prefix: of all keys
-- ARGV[5] max_jobs: how many dead jobs are kept
-- ARGV[6] max_age: how many seconds they are kept
-- ARGV[7] hours_kept: seconds until an hour's counters expire
-- RETURNS: 1 when this call filed it, 0 when another did
-- BUILDS: prefix .. throughput: .. hour
--- include lib/clock
--- include lib/dead
--- include lib/failures
local first = redis.call('LINDEX', KEYS[1], 0)
if first ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[5])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
redis.call('LPOP', KEYS[1])
redis.pcall('DEL', KEYS[3])
local now = clock()
count_failures(KEYS[4], ARGV[4], 1, now, ARGV[7])
trim_dead(KEYS[2], now, tonumber(ARGV[5]), tonumber(ARGV[6]))
return 1
