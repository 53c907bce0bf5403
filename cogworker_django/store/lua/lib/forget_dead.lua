-- forget_dead(inprogress, beats, prefix, identity): once nothing of a dead process is left to recover, it goes from the
-- registry, and so do commands that it has not read; the rest of what it told about itself expires.
local function forget_dead(inprogress, beats, prefix, identity)
  if redis.call('EXISTS', inprogress) == 1 then return end
  redis.pcall('HDEL', beats, identity)
  redis.call('DEL', prefix .. 'signals:' .. identity)
end
