-- Reads a page of a set, from an entry on that was seen before, wherever it is by now; or searches on from a rank.
-- KEYS[1] set: the sorted set
-- ARGV[1] order: up for the lowest score first, down for the highest
-- ARGV[2] mode: after, before, or at, which gives only the entry itself
-- ARGV[3] place: the rank to begin with; with a mark the rank that the entry had when it was seen
-- ARGV[4] score: of the entry, empty without a mark
-- ARGV[5] mark: the beginning of the entry's SHA-1, empty to begin at the place
-- ARGV[6] number: of entries wanted
-- ARGV[7] look: at most at so many
-- ARGV[8] bytes: no further ones once they are larger than this together
-- ARGV[9] text: in small letters; only entries that contain it are given back, empty for all
-- RETURNS: size of the set, the rank to go on from or -1 at the end, 1 if the entry was met, then triples of rank,
--   entry and score
-- BUILDS: nothing
local STEP, WINDOW, MARK = 100, 200, 12
local down, mode = ARGV[1] == 'down', ARGV[2]
local place, score, mark = tonumber(ARGV[3]), ARGV[4], ARGV[5]
local number, look, bytes, text = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]

local function range(first, last)
  if last < first then return {} end
  return redis.call(down and 'ZREVRANGE' or 'ZRANGE', KEYS[1], first, last, 'WITHSCORES')
end

local size, met = redis.call('ZCARD', KEYS[1]), 0
if mark ~= '' then
  -- Entries of one score lie beside each other, in the order of their bytes: the entry is among these or is gone.
  local before = down and redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf')
    or redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
  local behind = before + redis.call('ZCOUNT', KEYS[1], score, score)
  place = math.max(before, math.min(place, behind))
  local first = math.max(before, place - WINDOW)
  local near = range(first, math.min(place + WINDOW, behind) - 1)
  for i = 1, #near, 2 do
    if string.sub(redis.sha1hex(near[i]), 1, MARK) == mark then
      place, met = first + (i - 1) / 2, 1
      break
    end
  end
  if mode == 'after' and met == 1 then place = place + 1 end
end

local found = {size, -1, met}
local function put(rank, entry, value)
  found[#found + 1] = rank
  found[#found + 1] = entry
  found[#found + 1] = value
end
if mode == 'at' then
  if met == 1 then
    local entry = range(place, place)
    put(place, entry[1], entry[2])
  end
  return found
end
if mode == 'before' then
  local first = math.max(0, place - number)
  local entries = range(first, place - 1)
  for i = 1, #entries, 2 do
    put(first + (i - 1) / 2, entries[i], entries[i + 1])
  end
  if place < size then found[2] = place end
  return found
end
while number > 0 and look > 0 and bytes > 0 and place < size do
  local entries = range(place, place + math.min(STEP, look) - 1)
  for i = 1, #entries, 2 do
    if number <= 0 or bytes <= 0 then break end
    place, look = place + 1, look - 1
    if text == '' or string.find(string.lower(entries[i]), text, 1, true) then
      put(place - 1, entries[i], entries[i + 1])
      number, bytes = number - 1, bytes - #entries[i]
    end
  end
  if #entries == 0 then break end
end
if place < size then found[2] = place end
return found
