-- admission(prefix, lock_ttl, status_ttl): new jobs that bring their lock or their status along come in by it.
-- admit(jid, digest, status, delay): whether the job may come in: it is not unique, or its lock was free and is its own
-- now, for so long from its due time on.
-- written(): the jobs are where they belong: the statuses of those that are followed are written.
-- undone(): they are not: the locks are given up.
--- include lib/unique
local function admission(prefix, lock_ttl, status_ttl)
  local locks, followed, self = {}, {}, {}

  function self.admit(jid, digest, status, delay)
    if digest ~= '' then
      local lock = prefix .. 'unique:' .. digest
      if holder_of(lock) then return false end
      take(lock, jid, lock_ttl + math.max(0, delay))
      locks[#locks + 1] = {lock, jid}
    end
    if status ~= '' then followed[#followed + 1] = {prefix .. 'status:' .. jid, status} end
    return true
  end

  function self.written()
    for _, each in ipairs(followed) do redis.pcall('SET', each[1], each[2], 'PX', status_ttl) end
  end

  function self.undone()
    for _, each in ipairs(locks) do free(each[1], each[2]) end
  end

  return self
end
