-- Deletes entries of a set, and with each what else is kept of its job.
-- KEYS[1] set: the sorted set with the entries
-- ARGV[1] prefix: of all keys
-- ARGV[2...] entries: triples of the entry as stored, its job's id and the digest of a unique one, each empty where
--   there is none; at most 1,000
-- RETURNS: how many were deleted
-- BUILDS: prefix .. job_attempts:, status: .. id; prefix .. unique: .. digest
--- include lib/forget_job
local prefix, removed = ARGV[1], 0
for i = 2, #ARGV, 3 do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then
    removed = removed + 1
    if ARGV[i + 1] ~= '' then forget_job(prefix, {jid = ARGV[i + 1], unique_digest = ARGV[i + 2]}) end
  end
end
return removed
