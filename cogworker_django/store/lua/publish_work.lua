-- A process tells what it is running; also on a full server, where nobody could see otherwise what it is busy with.
-- KEYS[1] work: what it runs
-- KEYS[2] nothing: a key that never exists
-- ARGV[1] work: the text for KEYS[1]
-- ARGV[2] ttl: milliseconds until it expires
-- RETURNS: nothing of use
-- BUILDS: nothing
redis.call('DEL', KEYS[2])
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
