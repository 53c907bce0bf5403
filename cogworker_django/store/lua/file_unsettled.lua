-- Files a failure that another process has handed over at its end, if it is still the first of those that wait
-- (reference, 9.8). It has been counted when it was handed over.
-- KEYS[1] unsettled: the list of records
-- KEYS[2] set: the sorted set that the job belongs into
-- KEYS[3] counter: the job's orphan counter
-- KEYS[4] bell: the schedule's bell, rung since the job may be due before all others
-- KEYS[5] nothing: a key that never exists
-- ARGV[1] record: as it waits
-- ARGV[2] score: due time or time of death
-- ARGV[3] entry: what is filed
-- RETURNS: 1 when this call filed it, 0 when another did
-- BUILDS: nothing
--- include lib/ring
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[5])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
redis.call('LPOP', KEYS[1])
redis.pcall('DEL', KEYS[3])
ring(KEYS[4], 1)
return 1
