-- Moves entries of a set to their queues: the new payload on the left of the queue first, then the entry goes. An
-- entry that its queue refuses stays and does not hold up the others.
-- KEYS[1] set: the sorted set with the entries
-- KEYS[2] queues: the set of all queue names
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2...] entries: triples of the entry as stored, its queue and the payload to push; at most 1,000
-- RETURNS: for each entry moved, gone or the error
-- BUILDS: prefix .. queue:, bell: .. queue
--- include lib/ring
--- include lib/is_error
local prefix, outcomes, pushed = ARGV[1], {}, {}

local function move(entry, queue, payload)
  if not redis.call('ZSCORE', KEYS[1], entry) then return 'gone' end
  local reply = redis.pcall('LPUSH', prefix .. 'queue:' .. queue, payload)
  if is_error(reply) then return reply.err end
  redis.call('ZREM', KEYS[1], entry)
  pushed[queue] = (pushed[queue] or 0) + 1
  return 'moved'
end

redis.call('DEL', KEYS[3])
for i = 2, #ARGV, 3 do outcomes[#outcomes + 1] = move(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
for queue, number in pairs(pushed) do
  redis.pcall('SADD', KEYS[2], queue)
  ring(prefix .. 'bell:' .. queue, number)
end
return outcomes
