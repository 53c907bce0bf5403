-- Moves a key of the wrong type out of the way, data and all, so that a fresh one can take its place (reference, 22).
-- KEYS[1] key: that may be damaged
-- KEYS[2] copy: where it goes, a name that nothing has
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] expected: the type that it should have
-- ARGV[2] ttl: seconds that the copy is kept
-- RETURNS: the type that it had, or nothing when it is as it should be by now
-- BUILDS: nothing
local actual = redis.call('TYPE', KEYS[1]).ok
if actual == 'none' or actual == ARGV[1] then return false end
redis.call('DEL', KEYS[3])
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return actual
