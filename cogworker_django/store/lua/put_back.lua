-- Puts a wake-up token back for another thread or process; also on a full server, where it would be lost else.
-- KEYS[1] bell: the list it was taken from
-- KEYS[2] nothing: a key that never exists
-- ARGV[1] token: what was taken
-- RETURNS: how many tokens are there
-- BUILDS: nothing
redis.call('DEL', KEYS[2])
return redis.call('LPUSH', KEYS[1], ARGV[1])
