-- Writes a living process's jobs into a fresh hash when something has put a key of another type in its place. Only
-- then: when the hash is merely gone, others have taken the jobs.
-- KEYS[1] inprogress: the process's hash
-- KEYS[2] copy: where the damaged key goes, a name that nothing has
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] ttl: seconds that the copy is kept
-- ARGV[2...] jobs: pairs of delivery token and raw job
-- RETURNS: the type that it had, or nothing when it is as it should be by now
-- BUILDS: nothing
local actual = redis.call('TYPE', KEYS[1]).ok
if actual == 'none' or actual == 'hash' then return false end
redis.call('DEL', KEYS[3])
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[1])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return actual
