-- Puts unsettled jobs of a process back at the front of their queues: what it fetched and has not started, or has
-- not finished when it must stop. The last token goes first, so that the first is the next to run again.
-- KEYS[1] inprogress: the process's hash
-- KEYS[2] queues: the set of all queue names
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] lock_ttl: seconds that the lock of a unique job lasts from now on
-- ARGV[3...] tokens: at most 1,000, in descending order
-- RETURNS: how many were moved, then for each token that could not be moved the token and the error
-- BUILDS: prefix .. queue: .. the lane named in the token; prefix .. bell: .. its queue; prefix .. unique: .. digest
--- include lib/ring
--- include lib/keep_lock
--- include lib/lanes
local prefix, moved, rings, report = ARGV[1], 0, {}, {0}
redis.call('DEL', KEYS[3])
for i = 3, #ARGV do
  local token = ARGV[i]
  local lane = string.match(token, '^%d+:(.*)$')
  local job = redis.call('HGET', KEYS[1], token)
  if job then
    local reply = redis.pcall('RPUSH', prefix .. 'queue:' .. lane, job)
    if type(reply) == 'table' and reply.err then
      report[#report + 1], report[#report + 2] = token, reply.err
    else
      redis.call('HDEL', KEYS[1], token)
      keep_lock(prefix, job, ARGV[2])
      local queue = queue_of(lane)
      rings[queue] = (rings[queue] or 0) + 1
      moved = moved + 1
    end
  end
end
for queue, number in pairs(rings) do
  redis.pcall('SADD', KEYS[2], queue)
  ring(prefix .. 'bell:' .. queue, number)
end
report[1] = moved
return report
