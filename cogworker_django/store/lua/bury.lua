-- Files entries of a set that cannot be run: a readable wrapper into dead, then the entry goes, and it counts as failed.
-- KEYS[1] set: the sorted set with the entries
-- KEYS[2] dead: the sorted set of dead jobs
-- KEYS[3] failed: the counter of all failures
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] max_jobs: how many dead jobs are kept
-- ARGV[3] max_age: how many seconds they are kept
-- ARGV[4] hours_kept: seconds until an hour's counters expire
-- ARGV[5...] entries: pairs of the entry as stored and its wrapper; at most 1,000
-- RETURNS: for each entry moved, gone or the error
-- BUILDS: prefix .. throughput: .. hour
--- include lib/clock
--- include lib/is_error
--- include lib/dead
--- include lib/failures
local now, outcomes, buried = clock(), {}, 0

local function bury(entry, wrapper)
  if not redis.call('ZSCORE', KEYS[1], entry) then return 'gone' end
  local reply = redis.pcall('ZADD', KEYS[2], stamp(now), wrapper)
  if is_error(reply) then return reply.err end
  redis.call('ZREM', KEYS[1], entry)
  buried = buried + 1
  return 'moved'
end

redis.call('DEL', KEYS[4])
for i = 5, #ARGV, 2 do outcomes[#outcomes + 1] = bury(ARGV[i], ARGV[i + 1]) end
if buried > 0 then
  count_failures(KEYS[3], ARGV[1], buried, now, ARGV[4])
  trim_dead(KEYS[2], now, tonumber(ARGV[2]), tonumber(ARGV[3]))
end
return outcomes
