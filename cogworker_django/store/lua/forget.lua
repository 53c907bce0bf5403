-- A process that has stopped cleanly leaves; its registration stays while it still has unsettled jobs.
-- KEYS[1] inprogress: the process's hash
-- KEYS[2] beats: the hash of processes
-- KEYS[3] process: what it tells about itself
-- KEYS[4] work: what it was running
-- KEYS[5] signals: the list of commands for it
-- ARGV[1] identity: of the process
-- RETURNS: 1 when nothing of it is left, 0 when unsettled jobs wait for recovery
-- BUILDS: nothing
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5])
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.pcall('HDEL', KEYS[2], ARGV[1])
return 1
