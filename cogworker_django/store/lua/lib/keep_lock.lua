-- keep_lock(prefix, job, seconds): a job that goes back to its queue holds its lock for another while, and takes it
-- again if it has lapsed and is free (reference, 15.6). Most jobs have none, and are not read for it.
--- include lib/payload_of
--- include lib/unique
local function keep_lock(prefix, job, seconds)
  if not string.find(job, '"unique_digest"', 1, true) then return end
  local payload = payload_of(job)
  local lock = payload and lock_of(prefix, payload)
  if lock then take(lock, payload.jid, seconds) end
end
