-- Switches a periodic entry on again. What was due while it was off counts as passed.
-- KEYS[1] disabled: the set of entries that are switched off
-- KEYS[2] slots: the hash of the last slots, entry to epoch seconds
-- ARGV[1] name: the entry's
-- RETURNS: 1, or 0 when it was on
-- BUILDS: nothing
-- Damage is met before anything is written; SREM comes first, so that a full server refuses the other no memory.
redis.call('HEXISTS', KEYS[2], ARGV[1])
if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('TIME')[1])
return 1
