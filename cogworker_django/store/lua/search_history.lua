-- Reads those of the next entries of a list of the history that contain a text, newest first.
-- KEYS[1] history: the list
-- ARGV[1] start: the position to go on from
-- ARGV[2] number: of entries to look at
-- ARGV[3] bytes: no further ones once they are larger than this together
-- ARGV[4] text: what an entry must contain
-- RETURNS: the position to go on from, 0 at the end, then the entries
-- BUILDS: nothing
local STEP = 100
local start, number, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local found = {0}
while number > 0 and bytes > 0 do
  local entries = redis.call('LRANGE', KEYS[1], start, start + STEP - 1)
  for _, entry in ipairs(entries) do
    bytes = bytes - #entry
    if string.find(entry, ARGV[4], 1, true) then found[#found + 1] = entry end
  end
  if #entries < STEP then return found end
  start, number = start + STEP, number - STEP
end
found[1] = start
return found
