-- Moves entries of a set to their queues: the new payload on the left of the queue first, then the entry goes. An
-- entry that its queue refuses stays and does not hold up the others, and so does a unique one whose lock another holds.
-- KEYS[1] set: the sorted set with the entries
-- KEYS[2] queues: the set of all queue names
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] lock_ttl: seconds that a lock which must be taken lasts
-- ARGV[3...] entries: the entry as stored, its lane, the payload to push, its id, and the digest of the lock that it
--   must take for this, else empty; at most 1,000
-- RETURNS: for each entry moved, gone, `held by` and an id, or the error
-- BUILDS: prefix .. queue: .. lane; prefix .. bell: .. its queue; prefix .. unique: .. digest
--- include lib/ring
--- include lib/is_error
--- include lib/lanes
--- include lib/unique
local prefix, outcomes, pushed = ARGV[1], {}, {}

local function move(entry, lane, payload, jid, digest)
  if not redis.call('ZSCORE', KEYS[1], entry) then return 'gone' end
  local lock = digest ~= '' and prefix .. 'unique:' .. digest
  local held = lock and holder_of(lock)
  if held and held ~= jid then return 'held by ' .. held end
  local reply = redis.pcall('LPUSH', prefix .. 'queue:' .. lane, payload)
  if is_error(reply) then return reply.err end
  redis.call('ZREM', KEYS[1], entry)
  if lock then take(lock, jid, ARGV[2]) end
  local queue = queue_of(lane)
  pushed[queue] = (pushed[queue] or 0) + 1
  return 'moved'
end

redis.call('DEL', KEYS[3])
for i = 3, #ARGV, 5 do outcomes[#outcomes + 1] = move(unpack(ARGV, i, i + 4)) end
for queue, number in pairs(pushed) do
  redis.pcall('SADD', KEYS[2], queue)
  ring(prefix .. 'bell:' .. queue, number)
end
return outcomes
