-- Reads the lowest entries of a set, those that are due or all, as many as fit into a number and a size.
-- KEYS[1] set: the sorted set
-- ARGV[1] due: 1 to read only what is due on this server's clock, 0 to read whatever is there
-- ARGV[2] skip: how many entries to pass over
-- ARGV[3] number: at most so many, up to 1,000
-- ARGV[4] bytes: no further ones once the entries are larger than this together
-- RETURNS: server time, then each entry and its score
-- BUILDS: nothing
--- include lib/clock
local STEP = 50
local now, skip, number, bytes = clock(), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local last = ARGV[1] == '1' and stamp(now) or '+inf'
local found = {stamp(now)}
while number > 0 and bytes > 0 do
  local step = math.min(STEP, number)
  local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', last, 'WITHSCORES', 'LIMIT', skip, step)
  for i = 1, #entries, 2 do
    if bytes > 0 then
      found[#found + 1], found[#found + 2] = entries[i], entries[i + 1]
      bytes = bytes - #entries[i]
    end
  end
  if #entries < 2 * step then break end
  skip, number = skip + step, number - step
end
return found
