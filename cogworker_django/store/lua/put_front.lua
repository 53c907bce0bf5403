-- Puts raw jobs at the front of a queue, for basic mode, where no hash holds what was fetched.
-- KEYS[1] lane: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- KEYS[4] nothing: a key that never exists
-- ARGV[1] name: the queue's name
-- ARGV[2...] jobs: raw jobs, the one to run next last; at most 1,000
-- RETURNS: how many
-- BUILDS: nothing
--- include lib/ring
local number = #ARGV - 1
-- On a server at maxmemory a script may write once it has freed something; nobody else has these jobs.
redis.call('DEL', KEYS[4])
redis.call('RPUSH', KEYS[1], unpack(ARGV, 2))
redis.pcall('SADD', KEYS[3], ARGV[1])
ring(KEYS[2], number)
return number
