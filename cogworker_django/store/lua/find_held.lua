-- Finds the unsettled jobs of a process that contain a text.
-- KEYS[1] inprogress: the process's hash
-- ARGV[1] text: what the raw job must contain
-- RETURNS: the raw jobs
-- BUILDS: nothing
local found = {}
for _, job in ipairs(redis.call('HVALS', KEYS[1])) do
  if string.find(job, ARGV[1], 1, true) then found[#found + 1] = job end
end
return found
