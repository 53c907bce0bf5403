-- Deletes some of the jobs of a lane, those that would run next, and with each what else is kept of it; an empty queue
-- is no longer listed.
-- KEYS[1] lane: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- ARGV[1] name: the queue's name
-- ARGV[2] prefix: of all keys
-- ARGV[3] number: at most so many, up to 1,000
-- ARGV[4] bytes: no further ones once the jobs are larger than this together
-- RETURNS: how many were deleted
-- BUILDS: prefix .. queue: .. the lanes of the queue; prefix .. job_attempts:, status: .. id; prefix .. unique: .. digest
--- include lib/payload_of
--- include lib/forget_job
--- include lib/lanes
local STEP = 50
local number, bytes, deleted = tonumber(ARGV[3]), tonumber(ARGV[4]), 0
while deleted < number and bytes > 0 do
  local step = math.min(STEP, number - deleted)
  local jobs = redis.call('LRANGE', KEYS[1], -step, -1)
  if #jobs == 0 then break end
  redis.call('LTRIM', KEYS[1], 0, -#jobs - 1)
  for _, job in ipairs(jobs) do
    bytes = bytes - #job
    local payload = payload_of(job)
    if payload then forget_job(ARGV[2], payload) end
  end
  deleted = deleted + #jobs
end
local lanes = lanes_of(ARGV[2], ARGV[1])
if #lanes == 1 and redis.call('LLEN', ARGV[2] .. 'queue:' .. lanes[1]) == 0 then
  redis.pcall('DEL', KEYS[2])
  redis.pcall('SREM', KEYS[3], ARGV[1])
end
return deleted
