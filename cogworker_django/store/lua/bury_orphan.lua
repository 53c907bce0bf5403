-- Files a job of a dead process that was orphaned too often in dead, straight from its hash; it counts as failed. The
-- token is the fence: whoever's call removes it has buried the job, and nobody else.
-- KEYS[1] inprogress: the dead process's hash
-- KEYS[2] beats: the hash of processes, identity to "stamp started concurrency"
-- KEYS[3] process: what the process tells about itself
-- KEYS[4] dead: the sorted set of dead jobs
-- KEYS[5] failed: the counter of all failures
-- KEYS[6] nothing: a key that never exists
-- ARGV[1] prefix: of all keys
-- ARGV[2] identity: of the process
-- ARGV[3] threshold: seconds without a beat after which it is dead
-- ARGV[4] token: of the job
-- ARGV[5] entry: what is filed
-- ARGV[6] max_jobs: how many dead jobs are kept
-- ARGV[7] max_age: how many seconds they are kept
-- ARGV[8] hours_kept: seconds until an hour's counters expire
-- RETURNS: 1 when this call filed it, 0 when another did or the process lives
-- BUILDS: prefix .. throughput: .. hour; prefix .. orphanings: .. jid; prefix .. signals: .. identity; prefix .. unique:
--   .. digest
--- include lib/clock
--- include lib/dead
--- include lib/failures
--- include lib/forget_dead
--- include lib/is_alive
--- include lib/payload_of
--- include lib/unique
local prefix, identity, token = ARGV[1], ARGV[2], ARGV[4]
local job = redis.call('HGET', KEYS[1], token)
if not job or is_alive(KEYS[2], KEYS[3], identity, ARGV[3]) then return 0 end
local now, payload = clock(), payload_of(job)
redis.call('DEL', KEYS[6])
redis.call('ZADD', KEYS[4], stamp(now), ARGV[5])
redis.call('HDEL', KEYS[1], token)
if payload then
  redis.pcall('DEL', prefix .. 'orphanings:' .. payload.jid)
  local lock = lock_of(prefix, payload)
  if lock then free(lock, payload.jid) end
end
count_failures(KEYS[5], prefix, 1, now, ARGV[8])
trim_dead(KEYS[4], now, tonumber(ARGV[6]), tonumber(ARGV[7]))
forget_dead(KEYS[1], KEYS[2], prefix, identity)
return 1
