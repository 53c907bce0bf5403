-- Shows the periodic entries of a process, and takes off those that no process has shown for a while.
-- KEYS[1] entries: the hash of what is shown, entry to text
-- KEYS[2] seen: the hash of when each was last shown, entry to epoch seconds
-- ARGV[1] kept: seconds after which one that nobody shows goes
-- ARGV[2...] shown: pairs of an entry's name and its text
-- RETURNS: how many were taken off
-- BUILDS: nothing
--- include lib/clock
local now, gone = clock(), 0
for i = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  redis.call('HSET', KEYS[2], ARGV[i], stamp(now))
end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  local seen = tonumber(redis.call('HGET', KEYS[2], name) or 0)
  if not seen or now - seen > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], name)
    redis.call('HDEL', KEYS[2], name)
    gone = gone + 1
  end
end
return gone
