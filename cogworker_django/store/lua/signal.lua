-- Leaves a command for a process, kept until the process has read it or a day has passed.
-- KEYS[1] signals: the list of commands for the process
-- ARGV[1] command: quiet, resume, stop, or cancel and a job
-- ARGV[2] kept: seconds until the list expires
-- ARGV[3] most: how many commands are kept, the newest
-- RETURNS: how many commands wait
-- BUILDS: nothing
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[3]), -1)
redis.call('EXPIRE', KEYS[1], ARGV[2])
return redis.call('LLEN', KEYS[1])
