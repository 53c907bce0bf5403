-- Files a job that was orphaned too often in dead, if it is still the first of the waiting ones.
-- KEYS[1] repeat: the list of jobs that wait to be buried
-- KEYS[2] dead: the sorted set
-- KEYS[3] counter: the job's orphan counter
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] job: the raw job as it waits
-- ARGV[2] score: time of death
-- ARGV[3] entry: what is filed
-- RETURNS: 1 when this call filed it, 0 when another did
-- BUILDS: nothing
local first = redis.call('LINDEX', KEYS[1], 0)
if first ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[4])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
redis.call('LPOP', KEYS[1])
redis.pcall('DEL', KEYS[3])
return 1
