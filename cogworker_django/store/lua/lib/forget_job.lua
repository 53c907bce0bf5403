-- forget_job(prefix, payload): a job leaves for good without having run to its end: its lock, the record of its failed
-- attempts and its status go with it (contract, section 7).
--- include lib/unique
local function forget_job(prefix, payload)
  local lock = lock_of(prefix, payload)
  if lock then free(lock, payload.jid) end
  redis.pcall('DEL', prefix .. 'job_attempts:' .. payload.jid, prefix .. 'status:' .. payload.jid)
end
