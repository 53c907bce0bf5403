-- Takes a mark off the set of paused queues and wakes the workers for the jobs that have been waiting.
-- KEYS[1] paused: the set of paused queues; the member * pauses all
-- ARGV[1] prefix: of all keys
-- ARGV[2] mark: the name of a queue, or *
-- ARGV[3...] queues: the names of the queues that may be read again
-- RETURNS: 1, or 0 when the mark was not there
-- BUILDS: prefix .. queue: .. lane; prefix .. bell: .. queue
--- include lib/ring
--- include lib/lanes
local prefix = ARGV[1]
if redis.call('SREM', KEYS[1], ARGV[2]) == 0 then return 0 end
for i = 3, #ARGV do
  for _, lane in ipairs(lanes_of(prefix, ARGV[i])) do
    local jobs = redis.pcall('LLEN', prefix .. 'queue:' .. lane)
    if type(jobs) == 'number' and jobs > 0 then ring(prefix .. 'bell:' .. ARGV[i], jobs) end
  end
end
return 1
