-- Puts new jobs on their queue, each with what goes with it: the lock of a unique job, the status of one that is
-- followed. A unique job whose lock another holds is passed over. On a full server and on a damaged queue nothing is
-- written, and the error goes to the caller.
-- KEYS[1] lane: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- ARGV[1] name: the queue's name
-- ARGV[2] prefix: of all keys
-- ARGV[3] lock_ttl: seconds that a lock lasts
-- ARGV[4] status_ttl: milliseconds that a status lasts
-- ARGV[5] width: words for each job: 1, or 4 where something goes with it
-- ARGV[6...] jobs: in the order in which they shall run, at most 1,000; each the raw job, then its id, the digest of a
--   unique one and the status of one that is followed, else empty
-- RETURNS: the positions of the jobs that were refused, from 0
-- BUILDS: prefix .. unique: .. digest; prefix .. status: .. id
--- include lib/ring
local FIRST = 6
local width = tonumber(ARGV[5])
if width == 1 then
  -- Most pushes: nothing of what follows is even defined for them.
  redis.call('LPUSH', KEYS[1], unpack(ARGV, FIRST))
  redis.pcall('SADD', KEYS[3], ARGV[1])
  ring(KEYS[2], #ARGV - FIRST + 1)
  return {}
end
--- include lib/is_error
--- include lib/admit
local jobs, refused = {}, {}
local admission = admission(ARGV[2], tonumber(ARGV[3]), ARGV[4])
for i = FIRST, #ARGV, width do
  if admission.admit(ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], 0) then
    jobs[#jobs + 1] = ARGV[i]
  else
    refused[#refused + 1] = (i - FIRST) / width
  end
end
if #jobs == 0 then return refused end
local reply = redis.pcall('LPUSH', KEYS[1], unpack(jobs))
if is_error(reply) then
  admission.undone()
  return reply
end
redis.pcall('SADD', KEYS[3], ARGV[1])
ring(KEYS[2], #jobs)
admission.written()
return refused
