-- Deletes some of the jobs of a queue, those that would run next; an empty queue is no longer listed.
-- KEYS[1] queue: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- ARGV[1] name: the queue's name
-- ARGV[2] number: at most so many, up to 1,000
-- RETURNS: how many were deleted
-- BUILDS: nothing
local number = tonumber(ARGV[2])
local before = redis.call('LLEN', KEYS[1])
redis.call('LTRIM', KEYS[1], 0, -number - 1)
local left = math.max(before - number, 0)
if left == 0 then
  redis.pcall('DEL', KEYS[2])
  redis.pcall('SREM', KEYS[3], ARGV[1])
end
return before - left
