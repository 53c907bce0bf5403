-- ring(bell, jobs): leaves a wake-up token for each of `jobs` new jobs, so that idle workers look; never more than
-- 16 in all, since nobody needs more. Guarded: a damaged bell must not undo or stop the move it belongs to.
local BELL_TOKENS = 16

local function ring(bell, jobs)
  local length = redis.pcall('LLEN', bell)
  if type(length) ~= 'number' or length >= BELL_TOKENS then return end
  local tokens = {}
  for i = 1, math.min(jobs, BELL_TOKENS - length) do tokens[i] = '1' end
  if #tokens > 0 then redis.pcall('LPUSH', bell, unpack(tokens)) end
end
