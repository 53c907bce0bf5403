-- Gives an entry another due time; a dead one goes to retry with it.
-- KEYS[1] set: the sorted set with the entry
-- KEYS[2] destination: the sorted set it shall be in, mostly the same
-- KEYS[3] bell: the schedule's bell, rung when the entry is now the earliest
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] entry: as stored
-- ARGV[2] kind: at for a time since the epoch, in for seconds from now on this server's clock
-- ARGV[3] seconds: the time or the delay
-- RETURNS: 1, or 0 when the entry is gone
-- BUILDS: nothing
--- include lib/ring
--- include lib/clock
local due = tonumber(ARGV[3]) + (ARGV[2] == 'in' and clock() or 0)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('DEL', KEYS[4])
redis.call('ZADD', KEYS[2], stamp(due), ARGV[1])
if KEYS[1] ~= KEYS[2] then redis.call('ZREM', KEYS[1], ARGV[1]) end
if redis.call('ZRANGE', KEYS[2], 0, 0)[1] == ARGV[1] then ring(KEYS[3], 1) end
return 1
