-- Deletes entries of a set, and with each the record of its failed attempts.
-- KEYS[1] set: the sorted set with the entries
-- ARGV[1] prefix: of all keys
-- ARGV[2...] entries: pairs of the entry as stored and its job id, empty when it has none; at most 1,000
-- RETURNS: how many were deleted
-- BUILDS: prefix .. job_attempts: .. job id
local prefix, removed = ARGV[1], 0
for i = 2, #ARGV, 2 do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    removed = removed + 1
    if ARGV[i + 1] ~= '' then redis.pcall('DEL', prefix .. 'job_attempts:' .. ARGV[i + 1]) end
  end
end
return removed
