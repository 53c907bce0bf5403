-- The locks of unique jobs. Guarded: a damaged lock counts as none, and never stops the move that it stands beside.
-- lock_of(prefix, payload): the key of its lock; nil for a job without one.
-- holder_of(lock): the id of the job that holds it, else nil.
-- take(lock, jid, seconds): takes a lock that is free, or makes one that is the job's own last so long from now, more
-- than 0 seconds; gives back the id of another job that holds it.
-- free(lock, jid): gives it up, unless it is another's by now (reference, 17.3).
local function lock_of(prefix, payload)
  local digest = payload.unique_digest
  if type(digest) == 'string' and string.match(digest, '^%x+$') then return prefix .. 'unique:' .. digest end
end

local function holder_of(lock)
  local holder = redis.pcall('GET', lock)
  return type(holder) == 'string' and holder or nil
end

local function take(lock, jid, seconds)
  local holder = holder_of(lock)
  if holder and holder ~= jid then return holder end
  redis.pcall('SET', lock, jid, 'EX', math.ceil(tonumber(seconds)))
end

local function free(lock, jid)
  if holder_of(lock) == jid then redis.pcall('DEL', lock) end
end
