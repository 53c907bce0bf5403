-- Reads a page of a queue, the next job to run first, or of the history, the newest run first, from a job on that was
-- seen before; or searches on from a place.
-- KEYS[1...] lists: one after the other, a queue's lanes in the order in which they are fetched
-- ARGV[1] mode: after, before, or at, which gives only the job itself
-- ARGV[2] place: to begin with, counted from 0 at the next job to run; with a mark where the job was when it was seen
-- ARGV[3] mark: the beginning of the job's SHA-1, empty to begin at the place
-- ARGV[4] number: of jobs wanted
-- ARGV[5] look: at most at so many
-- ARGV[6] bytes: no further ones once they are larger than this together
-- ARGV[7] text: in small letters; only jobs that contain it are given back, empty for all
-- ARGV[8] side: right, where the next job of a queue lies; or left, for a list that begins there
-- RETURNS: length of the queue, the place to go on from or -1 at the end, 1 if the job was met, then pairs of place
--   and job
-- BUILDS: nothing
local STEP, WINDOW, MARK = 100, 200, 12
local mode, place, mark = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local number, look, bytes, text = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]

local lengths, length, met = {}, 0, 0
for i, key in ipairs(KEYS) do
  lengths[i] = redis.call('LLEN', key)
  length = length + lengths[i]
end

local function add(found, key, first, last)
  if ARGV[8] == 'left' then
    for _, job in ipairs(redis.call('LRANGE', key, first, last)) do found[#found + 1] = job end
    return
  end
  local jobs = redis.call('LRANGE', key, -last - 1, -first - 1)
  for i = #jobs, 1, -1 do found[#found + 1] = jobs[i] end
end

local function range(first, last)
  local found, before = {}, 0
  for i, key in ipairs(KEYS) do
    local from, to = math.max(first - before, 0), math.min(last - before, lengths[i] - 1)
    if from <= to then add(found, key, from, to) end
    before = before + lengths[i]
  end
  return found
end

if mark ~= '' then
  -- Jobs that were fetched have moved it forward, those that came back to the front have moved it on.
  local first = math.max(0, place - WINDOW)
  local near = range(first, math.min(place + WINDOW, length - 1))
  for i = 1, #near do
    if string.sub(redis.sha1hex(near[i]), 1, MARK) == mark then
      place, met = first + i - 1, 1
      break
    end
  end
  if met == 0 then place = first end
  if mode == 'after' and met == 1 then place = place + 1 end
end

local found = {length, -1, met}
local function put(at, job)
  found[#found + 1] = at
  found[#found + 1] = job
end
if mode == 'at' then
  if met == 1 then put(place, range(place, place)[1]) end
  return found
end
if mode == 'before' then
  local first = math.max(0, place - number)
  for i, job in ipairs(range(first, math.min(place, length) - 1)) do
    put(first + i - 1, job)
  end
  if place < length then found[2] = place end
  return found
end
while number > 0 and look > 0 and bytes > 0 and place < length do
  local jobs = range(place, math.min(place + math.min(STEP, look), length) - 1)
  for _, job in ipairs(jobs) do
    if number <= 0 or bytes <= 0 then break end
    place, look = place + 1, look - 1
    if text == '' or string.find(string.lower(job), text, 1, true) then
      put(place - 1, job)
      number, bytes = number - 1, bytes - #job
    end
  end
  if #jobs == 0 then break end
end
if place < length then found[2] = place end
return found
