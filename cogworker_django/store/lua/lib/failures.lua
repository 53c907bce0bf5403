-- count_failures(total, prefix, number, now, hours_kept): jobs that count as failed without a run of theirs being
-- settled: the running total and the counter of the hour. Guarded: it stands beside a move.
local function count_failures(total, prefix, number, now, hours_kept)
  local hour = prefix .. 'throughput:' .. math.floor(now / 3600)
  redis.pcall('INCRBY', total, number)
  redis.pcall('HINCRBY', hour, 'failed', number)
  redis.pcall('EXPIRE', hour, hours_kept)
end
