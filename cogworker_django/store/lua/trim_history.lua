-- Deletes the oldest entries of a list of the history as long as they are too old, or cannot be read.
-- KEYS[1] history: the list
-- ARGV[1] retention: seconds that an entry is kept
-- ARGV[2] number: at most so many, up to 1,000
-- RETURNS: how many were deleted
-- BUILDS: nothing
--- include lib/clock
local STEP = 50
local oldest, number, deleted = clock() - tonumber(ARGV[1]), tonumber(ARGV[2]), 0

local function is_old(entry)
  local finished = tonumber(string.match(entry, '"finished_at":([%d.]+)'))
  return not finished or finished < oldest
end

while deleted < number do
  local entries = redis.call('LRANGE', KEYS[1], -STEP, -1)
  local old = 0
  while old < #entries and deleted + old < number and is_old(entries[#entries - old]) do old = old + 1 end
  if old == 0 then break end
  redis.call('LTRIM', KEYS[1], 0, -old - 1)
  deleted = deleted + old
end
return deleted
