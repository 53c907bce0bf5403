-- Finds a run of the history by the time of its end: runs lie nearly in the order of their ends, the newest first.
-- KEYS[1] history: the list
-- ARGV[1] time: of the run's end, epoch seconds
-- ARGV[2] mark: the beginning of the entry's SHA-1
-- RETURNS: the entry, or nothing when it is not there any more
-- BUILDS: nothing
local WINDOW, MARK = 500, 12
local time, low, high = tonumber(ARGV[1]), 0, redis.call('LLEN', KEYS[1])
while low < high do
  local middle = math.floor((low + high) / 2)
  local entry = redis.call('LINDEX', KEYS[1], middle)
  local ended = tonumber(string.match(entry, '"finished_at":%s*([%d.e+]+)') or '')
  if ended and ended > time then low = middle + 1 else high = middle end
end
local first = math.max(0, low - WINDOW)
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], first, low + WINDOW)) do
  if string.sub(redis.sha1hex(entry), 1, MARK) == ARGV[2] then return entry end
end
return false
