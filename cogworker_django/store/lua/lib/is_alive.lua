-- is_alive(beats, process, identity, threshold): whether a process is taken for alive, on this server's clock: it has
-- beaten within `threshold` seconds (reference, 10.1). Of one whose stamp cannot be read, or is in a damaged registry,
-- its presence alone decides.
local function is_alive(beats, process, identity, threshold)
  local time = redis.call('TIME')
  local beat = redis.pcall('HGET', beats, identity)
  local stamp = type(beat) == 'string' and tonumber(string.match(beat, '^[%d.]+'))
  if not stamp then return redis.call('EXISTS', process) == 1 end
  return time[1] + time[2] / 1000000 - stamp <= tonumber(threshold)
end
