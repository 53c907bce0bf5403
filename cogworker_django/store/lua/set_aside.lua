-- Sets a record of `unsettled` aside that cannot be used, if it is still the first (reference, 10.5).
-- KEYS[1] unsettled: the list of records
-- KEYS[2] aside: the list of unusable ones
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] record: as it waits
-- ARGV[2] ttl: seconds that unusable ones are kept
-- ARGV[3] most: how many of them are kept, the newest
-- RETURNS: 1 when this call did it, 0 when another did
-- BUILDS: nothing
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[3])
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
redis.call('EXPIRE', KEYS[2], ARGV[2])
redis.call('LPOP', KEYS[1])
return 1
