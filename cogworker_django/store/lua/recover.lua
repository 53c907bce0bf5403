-- Takes unsettled jobs of a dead process back to the front of their queues. Whether it is dead is decided here, so
-- that a beat cannot fall between question and answer. Called without tokens it only answers that.
-- KEYS[1] inprogress: the dead process's hash
-- KEYS[2] beats: the hash of processes, identity to "stamp started concurrency"
-- KEYS[3] process: what the process tells about itself
-- KEYS[4] orphaned: the mark that counters exist
-- KEYS[5] queues: the set of all queue names
-- KEYS[6] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] identity: of the process
-- ARGV[3] threshold: seconds without a beat after which it is dead
-- ARGV[4] most: recoveries of one job; one that was recovered so often is left where it is, to be buried
-- ARGV[5] counter_ttl: seconds that a counter lasts
-- ARGV[6] careful_ttl: seconds that careful fetching lasts at most
-- ARGV[7] border: only tokens with numbers up to this one can have been running, and count an orphaning
-- ARGV[8] lock_ttl: seconds that the lock of a unique job lasts from now on
-- ARGV[9...] tokens: at most 1,000, in descending order, so that the first is the next to run again
-- RETURNS: nothing when it lives; else how many were moved, how many could not be, the queues put onto, the tokens to
--   be buried
-- BUILDS: prefix .. queue: .. the lane named in the token; prefix .. bell:, careful: .. its queue;
--   prefix .. orphanings: .. jid; prefix .. signals: .. identity; prefix .. unique: .. digest
--- include lib/ring
--- include lib/forget_dead
--- include lib/is_alive
--- include lib/is_error
--- include lib/keep_lock
--- include lib/lanes
local prefix, identity, most, border = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[7])
if is_alive(KEYS[2], KEYS[3], identity, ARGV[3]) then return false end

-- How often the job was orphaned before; a damaged counter starts anew instead of switching the limit off.
local function orphanings(key)
  local number = tonumber(redis.pcall('GET', key))
  if not number then redis.call('DEL', key) end
  return number or 0
end

local function count(key)
  redis.pcall('INCR', key)
  redis.pcall('EXPIRE', key, ARGV[5])
end

local moved, failed, condemned, queues = 0, 0, {}, {}

local function put_back(token)
  local number, lane = string.match(token, '^(%d+):(.*)$')
  local job = redis.call('HGET', KEYS[1], token)
  if not job then return end
  local payload = tonumber(number) <= border and payload_of(job)
  local counter = payload and prefix .. 'orphanings:' .. payload.jid
  if counter and orphanings(counter) >= most then condemned[#condemned + 1] = token return end
  if is_error(redis.pcall('RPUSH', prefix .. 'queue:' .. lane, job)) then failed = failed + 1 return end
  if counter then count(counter) end
  local queue = queue_of(lane)
  queues[queue] = (queues[queue] or 0) + 1
  redis.call('HDEL', KEYS[1], token)
  keep_lock(prefix, job, ARGV[8])
  moved = moved + 1
end

redis.call('DEL', KEYS[6])
for i = 9, #ARGV do put_back(ARGV[i]) end
local names = {}
for queue, number in pairs(queues) do
  redis.pcall('SADD', KEYS[5], queue)
  redis.pcall('INCRBY', prefix .. 'careful:' .. queue, number)
  redis.pcall('EXPIRE', prefix .. 'careful:' .. queue, ARGV[6])
  ring(prefix .. 'bell:' .. queue, number)
  names[#names + 1] = queue
end
if moved > 0 then redis.call('SET', KEYS[4], '1', 'EX', ARGV[5]) end
forget_dead(KEYS[1], KEYS[2], prefix, identity)
return {moved, failed, names, condemned}
