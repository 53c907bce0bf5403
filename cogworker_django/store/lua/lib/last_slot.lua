-- last_slot(slots, name): the last slot of a periodic entry in epoch seconds; nil when it has none, or when what stands
-- there is no time: eleven digits at most. A damaged one must not keep the entry from ever being fired again.
local function last_slot(slots, name)
  local last = redis.call('HGET', slots, name)
  if last and #last < 12 and string.match(last, '^%d+$') then return tonumber(last) end
end
