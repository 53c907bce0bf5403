-- Moves entries of a set to dead as they are; a unique job frees its lock there.
-- KEYS[1] set: the sorted set with the entries, schedule or retry
-- KEYS[2] dead: the sorted set of dead jobs
-- KEYS[3] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] max_jobs: how many dead jobs are kept
-- ARGV[3] max_age: how many seconds they are kept
-- ARGV[4...] entries: as stored; at most 1,000
-- RETURNS: for each entry moved, gone or the error
-- BUILDS: prefix .. unique: .. digest
--- include lib/clock
--- include lib/is_error
--- include lib/dead
--- include lib/payload_of
--- include lib/unique
local now, outcomes = clock(), {}

local function kill(entry)
  if not redis.call('ZSCORE', KEYS[1], entry) then return 'gone' end
  local reply = redis.pcall('ZADD', KEYS[2], stamp(now), entry)
  if is_error(reply) then return reply.err end
  redis.call('ZREM', KEYS[1], entry)
  local payload = payload_of(entry)
  local lock = payload and lock_of(ARGV[1], payload)
  if lock then free(lock, payload.jid) end
  return 'moved'
end

redis.call('DEL', KEYS[3])
for i = 4, #ARGV do outcomes[#outcomes + 1] = kill(ARGV[i]) end
trim_dead(KEYS[2], now, tonumber(ARGV[2]), tonumber(ARGV[3]))
return outcomes
