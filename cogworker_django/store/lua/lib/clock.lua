-- clock(): seconds since the epoch on this server's clock; stamp(seconds): the same as text, to the microsecond (Lua's
-- own conversion keeps 14 digits only).
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local function stamp(seconds)
  return string.format('%.6f', seconds)
end
