-- Reads the next part of a lane, newest first, going on from an earlier part although it has changed since.
-- KEYS[1] lane: the list
-- ARGV[1] start: the position to go on from, 0 for the first part
-- ARGV[2] known: length of the queue at the earlier part, empty for the first one
-- ARGV[3] number: of jobs to look at
-- ARGV[4] bytes: no further ones once the jobs are larger than this together
-- ARGV[5] text: only jobs that contain it are given back; empty for all
-- RETURNS: the length now, the position to go on from, then the raw jobs
-- BUILDS: nothing
local STEP = 50
local length = redis.call('LLEN', KEYS[1])
local start, number, bytes = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
local found = {length, 0}
-- What was pushed and deleted in front has moved all others, what was fetched at the far end has not: so this may go
-- back too far and show a job twice, but never passes one over.
if ARGV[2] ~= '' then start = math.max(0, start + length - tonumber(ARGV[2])) end
while number > 0 and bytes > 0 and start < length do
  local jobs = redis.call('LRANGE', KEYS[1], start, start + math.min(STEP, number) - 1)
  for _, job in ipairs(jobs) do
    bytes = bytes - #job
    if string.find(job, ARGV[5], 1, true) then found[#found + 1] = job end
  end
  start, number = start + #jobs, number - #jobs
end
found[2] = start
return found
