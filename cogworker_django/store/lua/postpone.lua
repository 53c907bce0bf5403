-- Makes entries due later, so that what cannot be moved now does not stand before the others for ever.
-- KEYS[1] set: the sorted set with the entries
-- KEYS[2] nothing: a key that never exists
-- ARGV[1] seconds: from now on this server's clock
-- ARGV[2...] entries: as stored; at most 1,000
-- RETURNS: how many are still there and were postponed
-- BUILDS: nothing
--- include lib/clock
local due, postponed = stamp(clock() + tonumber(ARGV[1])), 0
redis.call('DEL', KEYS[2])
for i = 2, #ARGV do postponed = postponed + redis.call('ZADD', KEYS[1], 'XX', 'CH', due, ARGV[i]) end
return postponed
