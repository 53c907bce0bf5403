-- One trip of a worker process: settles what has finished and fetches what is wanted, both at once.
-- KEYS[1] inprogress: the process's hash of unsettled jobs, delivery token to raw job
-- KEYS[2] beats: the hash of processes, identity to last beat
-- KEYS[3] paused: the set of paused queues; the member * pauses all
-- KEYS[4] orphaned: exists while recovered jobs may have counters
-- KEYS[5] schedule: the sorted set
-- KEYS[6] retry: the sorted set
-- KEYS[7] nothing: a key that never exists
-- ARGV[1] trip: in msgpack: prefix, identity, progress (what is kept beside the stamp of the beat), keep (false in
--   basic mode), notes ({token, id, status} of jobs that run), done (tokens of plain successes), verdicts ({token,
--   kind, essential commands, commands beside, id, status, history entry}, or {token, id, status, entry} of a success
--   with nothing else to write; beside, delete_if_owner and expire_if_owner are commands too; id, status and entry are
--   false where nothing is kept), status_ttl (milliseconds), history_kept
--   (entries), gathered ({kind, command} to run once, with $n for the number settled), wanted, waiting (free threads),
--   first (number of the first new token), picks ({queue, number} in the order to look), awaited (a due time that is
--   known already)
-- RETURNS: server time, the earliest due time if that is before the awaited one, else false, whether jobs may carry
--   orphan counters, whether the queues are empty now, names of the paused queues among the picks, results of the
--   verdicts (settled, now or by an earlier try, gone or the error), errors of queues (`in progress: ` for that of the
--   hash), then for each take its lane and its raw jobs
-- BUILDS: prefix .. queue: .. lane; prefix .. bell:, careful: .. queue; prefix .. status: .. id; prefix .. history:all, success, failed
--- include lib/lanes
local trip = cmsgpack.unpack(ARGV[1])
local prefix, keep, wanted = trip.prefix, trip.keep, trip.wanted
local counts, ended = {processed = 0, failed = 0, dropped = 0}, {all = {}, processed = {}, failed = {}, dropped = {}}
local CHUNK = 1000

local function settle_done(tokens)
  if not keep then counts.processed = #tokens return end
  for first = 1, #tokens, CHUNK do
    local last = math.min(first + CHUNK - 1, #tokens)
    counts.processed = counts.processed + redis.call('HDEL', KEYS[1], unpack(tokens, first, last))
  end
end

-- Of a lock only its owner disposes: meanwhile it may have lapsed and be another job's (reference, 17.3).
local verbs = {}
function verbs.delete_if_owner(key, owner)
  if redis.pcall('GET', key) == owner then redis.pcall('DEL', key) end
end
function verbs.expire_if_owner(key, owner, seconds)
  if redis.pcall('GET', key) == owner then redis.pcall('EXPIRE', key, seconds) end
end

local function do_beside(command)
  local verb = verbs[command[1]]
  if verb then verb(unpack(command, 2)) else redis.pcall(unpack(command)) end
end

local function follow(id, status)
  redis.pcall('SET', prefix .. 'status:' .. id, status, 'PX', trip.status_ttl)
end

-- What runs is followed while it is this process's; its end is written by its verdict, after this.
local function note(token, id, status)
  if not keep or redis.call('HEXISTS', KEYS[1], token) == 1 then follow(id, status) end
end

-- A repeat after a lost reply finds its entry filed, the same to the byte.
local function is_filed(command)
  return command[1] == 'ZADD' and type(redis.pcall('ZSCORE', command[2], command[4])) == 'string'
end

-- The token is the fence: when it is gone the job is no longer this process's, and nothing is written about it.
local function settle(token, kind, essential, beside, id, status, entry)
  if keep and #essential > 0 and redis.call('HEXISTS', KEYS[1], token) == 0 then
    return is_filed(essential[1]) and 'settled' or 'gone'
  end
  for _, command in ipairs(essential) do
    local reply = redis.pcall(unpack(command))
    if type(reply) == 'table' and reply.err then return reply.err end
  end
  if keep and redis.call('HDEL', KEYS[1], token) == 0 then return 'gone' end
  for _, command in ipairs(beside) do do_beside(command) end
  counts[kind] = counts[kind] + 1
  if status then follow(id, status) end
  if entry then
    ended.all[#ended.all + 1] = entry
    ended[kind][#ended[kind] + 1] = entry
  end
  return 'settled'
end

-- A success with nothing to write but what people are told.
local function record(token, id, status, entry)
  if keep and redis.call('HDEL', KEYS[1], token) == 0 then return 'gone' end
  counts.processed = counts.processed + 1
  if status then follow(id, status) end
  if entry then
    ended.all[#ended.all + 1] = entry
    ended.processed[#ended.processed + 1] = entry
  end
  return 'settled'
end

local function remember(list, entries)
  if #entries == 0 then return end
  redis.pcall('LPUSH', prefix .. 'history:' .. list, unpack(entries))
  redis.pcall('LTRIM', prefix .. 'history:' .. list, 0, trip.history_kept - 1)
end

local function gather(kind, command)
  if counts[kind] == 0 then return end
  for i, word in ipairs(command) do
    if word == '$n' then command[i] = counts[kind] end
  end
  redis.pcall(unpack(command))
end

-- On a server at maxmemory a script may write once it has freed something.
redis.call('DEL', KEYS[7])
for _, each in ipairs(trip.notes) do note(unpack(each)) end
settle_done(trip.done)
local results = {}
for i, verdict in ipairs(trip.verdicts) do
  results[i] = #verdict == 4 and record(unpack(verdict)) or settle(unpack(verdict))
end
remember('all', ended.all)
remember('success', ended.processed)
remember('failed', ended.failed)
for _, gathered in ipairs(trip.gathered) do gather(gathered[1], gathered[2]) end

local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
local orphaned = redis.call('EXISTS', KEYS[4])
local paused, errors, takes, taken, refused = {}, {}, {}, 0, false

-- Destination and source swap places here, as the pop is what frees memory; a refused write puts the jobs back.
local function hold(lane, jobs)
  if not keep then return true end
  local fields = {}
  for i, job in ipairs(jobs) do
    fields[2 * i - 1] = string.format('%d:%s', trip.first + taken + i - 1, lane)
    fields[2 * i] = job
  end
  local reply = redis.pcall('HSET', KEYS[1], unpack(fields))
  if type(reply) ~= 'table' or not reply.err then return true end
  for i = #jobs, 1, -1 do redis.call('RPUSH', prefix .. 'queue:' .. lane, jobs[i]) end
  errors[#errors + 1] = 'in progress: ' .. reply.err
  refused = true
  return false
end

local function pop(key, number)
  if keep then return redis.pcall('RPOP', key, number) end
  local jobs = {}  -- basic mode serves servers whose RPOP takes no count
  while #jobs < number do
    local job = redis.pcall('RPOP', key)
    if type(job) == 'table' then return job end
    if not job then break end
    jobs[#jobs + 1] = job
  end
  return #jobs > 0 and jobs
end

local function take_from(lane, queue, number)
  local jobs = pop(prefix .. 'queue:' .. lane, number)
  if not jobs then return end
  if jobs.err then errors[#errors + 1] = lane .. ': ' .. jobs.err return end
  if not hold(lane, jobs) then wanted = taken return end
  takes[#takes + 1], takes[#takes + 2] = lane, jobs
  taken = taken + #jobs
  if orphaned == 1 then
    local left = redis.pcall('DECRBY', prefix .. 'careful:' .. queue, #jobs)
    if type(left) ~= 'number' or left < 1 then redis.call('DEL', prefix .. 'careful:' .. queue) end
  end
end

-- Asked once a trip: nothing is pushed meanwhile, and most queues are one lane.
local lanes = {}
local function take(queue, number)
  if paused[queue] then return end
  lanes[queue] = lanes[queue] or lanes_of(prefix, queue)
  for _, lane in ipairs(lanes[queue]) do
    number = math.min(number, wanted - taken)
    if number < 1 then return end
    local before = taken
    take_from(lane, queue, number)
    number = number - (taken - before)
  end
end

local function be_careful(picks)
  for _, pick in ipairs(picks) do
    local left = redis.pcall('GET', prefix .. 'careful:' .. pick[1])
    if type(left) == 'string' and (tonumber(left) or 0) > 0 then
      wanted = math.min(wanted, math.max(1, trip.waiting))
      return
    end
  end
end

local function read_paused(picks)
  local members, names = redis.pcall('SMEMBERS', KEYS[3]), {}
  for _, name in ipairs(members) do paused[name] = true end
  for _, pick in ipairs(picks) do
    if paused['*'] then paused[pick[1]] = true end
    if paused[pick[1]] then names[#names + 1] = pick[1] end
  end
  return names
end

-- What is pushed after this finds no bell and leaves a new token, so whoever waits then is woken.
local function silence(picks)
  local bells = {}
  for _, pick in ipairs(picks) do
    if not paused[pick[1]] then bells[#bells + 1] = prefix .. 'bell:' .. pick[1] end
  end
  if #bells > 0 then redis.call('DEL', unpack(bells)) end
end

-- Counted first: an entry comes with all that is in it, which may be a megabyte at each trip, and mostly it is known.
local function earliest()
  local due = math.huge
  for _, key in ipairs({KEYS[5], KEYS[6]}) do
    local sooner = redis.pcall('ZCOUNT', key, '-inf', '(' .. trip.awaited)
    if type(sooner) == 'number' and sooner > 0 then
      due = math.min(due, tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]))
    end
  end
  return due < math.huge and string.format('%.6f', due)
end

local names, dry = {}, 0
if wanted > 0 then
  local asked = wanted
  names = read_paused(trip.picks)
  if orphaned == 1 then be_careful(trip.picks) end
  local limit = wanted
  for _, pick in ipairs(trip.picks) do take(pick[1], pick[2]) end
  for _, pick in ipairs(trip.picks) do take(pick[1], asked) end
  if taken < limit and not refused then
    silence(trip.picks)
    dry = 1
  end
end
if keep then redis.pcall('HSET', KEYS[2], trip.identity, now .. ' ' .. trip.progress) end
return {now, earliest(), orphaned, dry, names, results, errors, unpack(takes)}
