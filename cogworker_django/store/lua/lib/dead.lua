-- trim_dead(dead, now, max_jobs, max_age): the oldest dead jobs go, those above the number and those above the age in
-- seconds. At most 1,000 of each a call, so that no call is long after a limit was lowered. Guarded: it stands beside
-- a move and must not undo or stop it. Gives back how many went.
local TRIM_AT_ONCE = 1000

local function trim_dead(dead, now, max_jobs, max_age)
  local size = redis.pcall('ZCARD', dead)
  if type(size) ~= 'number' then return 0 end
  local old = redis.pcall('ZCOUNT', dead, '-inf', string.format('(%.6f', now - max_age))
  local too_many = math.min(math.max(size - max_jobs, old), TRIM_AT_ONCE)
  if too_many < 1 then return 0 end
  return redis.pcall('ZREMRANGEBYRANK', dead, 0, too_many - 1)
end
