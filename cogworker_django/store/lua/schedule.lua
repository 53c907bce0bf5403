-- Adds new jobs to the schedule, each with a due time or with a delay from now on this server's clock, and with what
-- goes with it, as push does.
-- KEYS[1] schedule: the sorted set
-- KEYS[2] bell: the schedule's bell, rung when one of the new jobs is now the earliest
-- ARGV[1] prefix: of all keys
-- ARGV[2] lock_ttl: seconds that a lock lasts after the due time
-- ARGV[3] status_ttl: milliseconds that a status lasts
-- ARGV[4...] jobs: at most 1,000; each `at` or `in`, seconds, the raw job, its id, digest and status as for push
-- RETURNS: the positions of the jobs that were refused, from 0
-- BUILDS: prefix .. unique: .. digest; prefix .. status: .. id
--- include lib/ring
--- include lib/is_error
--- include lib/clock
--- include lib/admit
local FIRST, WIDTH = 4, 6
local now, members, refused, sooner = clock(), {}, {}, false
local admission = admission(ARGV[1], tonumber(ARGV[2]), ARGV[3])
local earliest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local first = tonumber(earliest[2]) or math.huge
for i = FIRST, #ARGV, WIDTH do
  local score = tonumber(ARGV[i + 1])
  if ARGV[i] == 'in' then score = now + score end
  if admission.admit(ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], score - now) then
    if score < first then sooner = true end
    members[#members + 1] = stamp(score)
    members[#members + 1] = ARGV[i + 2]
  else
    refused[#refused + 1] = (i - FIRST) / WIDTH
  end
end
if #members == 0 then return refused end
local reply = redis.pcall('ZADD', KEYS[1], unpack(members))
if is_error(reply) then
  admission.undone()
  return reply
end
if sooner then ring(KEYS[2], 1) end
admission.written()
return refused
