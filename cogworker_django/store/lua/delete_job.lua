-- Deletes one job of a lane, and with it what else is kept of it.
-- KEYS[1] lane: the list
-- ARGV[1] prefix: of all keys
-- ARGV[2] job: as it lies there
-- ARGV[3] id: of the job; empty when it has none
-- ARGV[4] digest: of a unique one, else empty
-- RETURNS: 1, or 0 when it is gone
-- BUILDS: prefix .. job_attempts:, status: .. id; prefix .. unique: .. digest
--- include lib/forget_job
if redis.call('LREM', KEYS[1], 1, ARGV[2]) == 0 then return 0 end
if ARGV[3] ~= '' then forget_job(ARGV[1], {jid = ARGV[3], unique_digest = ARGV[4]}) end
return 1
