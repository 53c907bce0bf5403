-- is_alive(beats, process, identity, threshold): whether a process is taken for alive, on this server's clock: it has
-- beaten within `threshold` seconds (reference, 10.1). Of one whose stamp cannot be read, is in a damaged registry, or
-- lies further ahead than that (this clock was set back after the beat), its presence alone decides.
local function is_alive(beats, process, identity, threshold)
  local time = redis.call('TIME')
  local beat = redis.pcall('HGET', beats, identity)
  local stamp = type(beat) == 'string' and tonumber(string.match(beat, '^[%d.]+'))
  local age = stamp and time[1] + time[2] / 1000000 - stamp
  if not age or age < -tonumber(threshold) then return redis.call('EXISTS', process) == 1 end
  return age <= tonumber(threshold)
end
