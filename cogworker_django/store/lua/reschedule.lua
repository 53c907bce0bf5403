-- Gives an entry another due time; a dead one goes to retry with it. A unique job's lock lasts from the new time on; a
-- dead one must take it again, and stays when another holds it.
-- KEYS[1] set: the sorted set with the entry
-- KEYS[2] destination: the sorted set it shall be in, mostly the same
-- KEYS[3] bell: the schedule's bell, rung when the entry is now the earliest
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] entry: as stored
-- ARGV[2] kind: at for a time since the epoch, in for seconds from now on this server's clock
-- ARGV[3] seconds: the time or the delay
-- ARGV[4] prefix: of all keys
-- ARGV[5] id: of the job
-- ARGV[6] digest: of a unique one, else empty
-- ARGV[7] lock_ttl: seconds that its lock lasts after the due time
-- RETURNS: moved, gone, or `held by` and an id
-- BUILDS: prefix .. unique: .. digest
--- include lib/ring
--- include lib/clock
--- include lib/unique
local now = clock()
local due = tonumber(ARGV[3]) + (ARGV[2] == 'in' and now or 0)
local lock = ARGV[6] ~= '' and ARGV[4] .. 'unique:' .. ARGV[6]
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 'gone' end
local held = lock and KEYS[1] ~= KEYS[2] and holder_of(lock)
if held and held ~= ARGV[5] then return 'held by ' .. held end
redis.call('DEL', KEYS[4])
redis.call('ZADD', KEYS[2], stamp(due), ARGV[1])
if KEYS[1] ~= KEYS[2] then redis.call('ZREM', KEYS[1], ARGV[1]) end
if lock then take(lock, ARGV[5], ARGV[7] + math.max(0, due - now)) end
if redis.call('ZRANGE', KEYS[2], 0, 0)[1] == ARGV[1] then ring(KEYS[3], 1) end
return 'moved'
