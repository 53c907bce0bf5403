-- queue_of(lane): the name of the queue that a lane belongs to.
-- lanes_of(prefix, queue): the lanes of a queue that may hold jobs, in the order in which they are fetched. As long as no
-- job has a priority that is one, called like the queue (core/lanes.py).
local BANDS = {'|2', '|1', '', '|-1', '|-2'}

local function queue_of(lane)
  return string.match(lane, '^[^|]*')
end

local function lanes_of(prefix, queue)
  local key = prefix .. 'queue:' .. queue
  if redis.pcall('EXISTS', key .. '|2', key .. '|1', key .. '|-1', key .. '|-2') == 0 then return {queue} end
  local lanes = {}
  for i, band in ipairs(BANDS) do lanes[i] = queue .. band end
  return lanes
end
