-- Adds new jobs to the schedule, each with a due time or with a delay from now on this server's clock.
-- KEYS[1] schedule: the sorted set
-- KEYS[2] bell: the schedule's bell, rung when one of the new jobs is now the earliest
-- ARGV[1...] jobs: triples `at` or `in`, seconds, raw job; at most 1,000
-- RETURNS: the number of jobs added
-- BUILDS: nothing
--- include lib/ring
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local earliest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local first = tonumber(earliest[2]) or math.huge
local members, sooner = {}, false
for i = 1, #ARGV, 3 do
  local score = tonumber(ARGV[i + 1])
  if ARGV[i] == 'in' then score = now + score end
  if score < first then sooner = true end
  members[#members + 1] = string.format('%.6f', score)
  members[#members + 1] = ARGV[i + 2]
end
redis.call('ZADD', KEYS[1], unpack(members))
if sooner then ring(KEYS[2], 1) end
return #members / 2
