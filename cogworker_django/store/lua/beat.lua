-- A living process says that it is there, on this server's clock, and reads what it was told to do.
-- KEYS[1] beats: the hash of processes, identity to last beat
-- KEYS[2] process: what the process tells about itself
-- KEYS[3] signals: the list of commands for it
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] identity: of the process
-- ARGV[2] progress: what is kept beside the stamp: its started token and its concurrency
-- ARGV[3] info: the text for KEYS[2]
-- ARGV[4] ttl: milliseconds until KEYS[2] expires
-- ARGV[5] read: 1 to read the commands here, 0 when the process waits for them elsewhere
-- RETURNS: server time, then the commands
-- BUILDS: nothing
local time = redis.call('TIME')
local now = string.format('%d.%06d', time[1], time[2])
-- On a server at maxmemory a script may write once it has freed something.
redis.call('DEL', KEYS[4])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
-- Guarded: a damaged registry must not keep a process from starting, and nobody is taken for dead by such a one.
redis.pcall('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
if ARGV[5] ~= '1' then return {now} end
local commands = redis.pcall('LRANGE', KEYS[3], 0, -1)
redis.pcall('DEL', KEYS[3])
return {now, unpack(commands)}
