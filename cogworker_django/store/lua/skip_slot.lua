-- Claims a slot of a periodic entry without a job.
-- KEYS[1] slots: the hash of the last slots, entry to epoch seconds
-- ARGV[1] name: the entry's
-- ARGV[2] slot: epoch seconds
-- ARGV[3] first: 1 to claim it only if the entry never had one
-- RETURNS: 1, or 0 when it was not to be claimed any more
-- BUILDS: nothing
--- include lib/last_slot
if ARGV[3] == '1' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
local last = last_slot(KEYS[1], ARGV[1])
if last and last >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
