-- Takes the unsettled jobs of a dead process back to the front of their queues, at most ARGV[7] of them a call, the
-- last token first. Whether it is dead is decided here, so that a beat cannot fall between question and answer.
-- Only what can have been running counts an orphaning: tokens up to the started one, and the next few.
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
-- ARGV[7] limit: how many jobs this call moves at most
-- ARGV[8] below: only tokens with smaller numbers, for the calls after the first
-- RETURNS: -1 when it lives; else moved, left (jobs for further calls), failed, parked, the lowest number handled,
--   then the queues put onto
-- BUILDS: prefix .. queue:, bell:, careful: .. the queue named in the token; prefix .. orphanings: .. jid
--- include lib/ring
local prefix, identity, most = ARGV[1], ARGV[2], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local beat = redis.call('HGET', KEYS[2], identity) or ''
local stamp, started, concurrency = string.match(beat, '^([%d.]+) ?(%d*) ?(%d*)')
stamp = tonumber(stamp)
if stamp and now - stamp <= tonumber(ARGV[3]) then return {-1} end
if not stamp and redis.call('EXISTS', KEYS[3]) == 1 then return {-1} end

local numbers, tokens = {}, {}
for _, token in ipairs(redis.call('HKEYS', KEYS[1])) do
  local number = tonumber(string.match(token, '^(%d+):'))
  if number then
    numbers[#numbers + 1] = number
    tokens[number] = token
  end
end
table.sort(numbers)

-- Numbers up to this one can have been running.
local function running_until()
  local last, ahead = tonumber(started) or 0, tonumber(concurrency) or 1
  for _, number in ipairs(numbers) do
    if number > last then
      if ahead == 0 then break end
      last, ahead = number, ahead - 1
    end
  end
  return last
end

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

redis.call('DEL', KEYS[7])
local limit, below, border = tonumber(ARGV[7]), tonumber(ARGV[8]), running_until()
local moved, failed, parked, queues = 0, 0, 0, {}

local function put_back(number)
  local token = tokens[number]
  local queue, job = string.match(token, '^%d+:(.*)$'), redis.call('HGET', KEYS[1], token)
  local jid = number <= border and jid_of(job)
  local counter = jid and prefix .. 'orphanings:' .. jid
  local park = counter and orphanings(counter) >= most
  local reply = redis.pcall('RPUSH', park and KEYS[5] or prefix .. 'queue:' .. queue, job)
  if type(reply) == 'table' and reply.err then failed = failed + 1 return end
  if counter then count(counter) end
  if park then parked = parked + 1 else queues[queue] = (queues[queue] or 0) + 1 end
  redis.call('HDEL', KEYS[1], token)
  moved = moved + 1
end

local handled, lowest = 0, 0
for i = #numbers, 1, -1 do
  if handled == limit then break end
  if numbers[i] < below then
    put_back(numbers[i])
    handled, lowest = handled + 1, numbers[i]
  end
end
local left = 0
for _, number in ipairs(numbers) do
  if number < lowest then left = left + 1 end
end
local report = {moved, left, failed, parked, lowest}
for queue, number in pairs(queues) do
  redis.pcall('SADD', KEYS[6], queue)
  redis.pcall('INCRBY', prefix .. 'careful:' .. queue, number)
  redis.pcall('EXPIRE', prefix .. 'careful:' .. queue, ARGV[6])
  ring(prefix .. 'bell:' .. queue, number)
  report[#report + 1] = queue
end
if moved > 0 then redis.call('SET', KEYS[4], '1', 'EX', ARGV[5]) end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HDEL', KEYS[2], identity) end
return report
