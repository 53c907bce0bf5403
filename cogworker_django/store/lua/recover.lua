-- Takes unsettled jobs of a dead process back to the front of their queues. Whether it is dead is decided here, so
-- that a beat cannot fall between question and answer. Called without tokens it only answers that.
-- KEYS[1] inprogress: the dead process's hash
-- KEYS[2] beats: the hash of processes, identity to "stamp started concurrency"
-- KEYS[3] process: what the process tells about itself
-- KEYS[4] orphaned: the mark that counters exist
-- KEYS[5] repeat: the list of jobs orphaned too often, which wait to be buried
-- KEYS[6] queues: the set of all queue names
-- KEYS[7] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] identity: of the process
-- ARGV[3] threshold: seconds without a beat after which it is dead
-- ARGV[4] most: recoveries of one job before it is parked
-- ARGV[5] counter_ttl: seconds that a counter lasts
-- ARGV[6] careful_ttl: seconds that careful fetching lasts at most
-- ARGV[7] border: only tokens with numbers up to this one can have been running, and count an orphaning
-- ARGV[8...] tokens: at most 1,000, in descending order, so that the first is the next to run again
-- RETURNS: -1 when it lives; else how many were moved, how many could not be, how many of the moved were parked, then
--   the queues put onto
-- BUILDS: prefix .. queue:, bell:, careful: .. the queue named in the token; prefix .. orphanings: .. jid
--- include lib/ring
local prefix, identity, most, border = ARGV[1], ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
-- Of a damaged registry nothing is known: then presence alone decides.
local beat = redis.pcall('HGET', KEYS[2], identity)
local stamp = type(beat) == 'string' and tonumber(string.match(beat, '^[%d.]+'))
if stamp and now - stamp <= tonumber(ARGV[3]) then return {-1} end
if not stamp and redis.call('EXISTS', KEYS[3]) == 1 then return {-1} end

local function jid_of(job)
  local ok, payload = pcall(cjson.decode, job)
  if ok and type(payload) == 'table' and type(payload.jid) == 'string' then return payload.jid end
end

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

local moved, failed, parked, queues = 0, 0, 0, {}

local function put_back(token)
  local number, queue = string.match(token, '^(%d+):(.*)$')
  local job = redis.call('HGET', KEYS[1], token)
  if not job then return end
  local jid = tonumber(number) <= border and jid_of(job)
  local counter = jid and prefix .. 'orphanings:' .. jid
  local park = counter and orphanings(counter) >= most
  local reply = redis.pcall('RPUSH', park and KEYS[5] or prefix .. 'queue:' .. queue, job)
  if type(reply) == 'table' and reply.err then failed = failed + 1 return end
  if counter then count(counter) end
  if park then parked = parked + 1 else queues[queue] = (queues[queue] or 0) + 1 end
  redis.call('HDEL', KEYS[1], token)
  moved = moved + 1
end

redis.call('DEL', KEYS[7])
for i = 8, #ARGV do put_back(ARGV[i]) end
local report = {moved, failed, parked}
for queue, number in pairs(queues) do
  redis.pcall('SADD', KEYS[6], queue)
  redis.pcall('INCRBY', prefix .. 'careful:' .. queue, number)
  redis.pcall('EXPIRE', prefix .. 'careful:' .. queue, ARGV[6])
  ring(prefix .. 'bell:' .. queue, number)
  report[#report + 1] = queue
end
if moved > 0 then redis.call('SET', KEYS[4], '1', 'EX', ARGV[5]) end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.pcall('HDEL', KEYS[2], identity) end
return report
