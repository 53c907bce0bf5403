-- Puts new jobs on their queue. On a full server nothing is written and the error goes to the caller.
-- KEYS[1] queue: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- ARGV[1] name: the queue's name
-- ARGV[2...] jobs: raw jobs, in the order in which they shall run; at most 1,000
-- RETURNS: the length of the queue
-- BUILDS: nothing
--- include lib/ring
local length = redis.call('LPUSH', KEYS[1], unpack(ARGV, 2))
redis.pcall('SADD', KEYS[3], ARGV[1])
ring(KEYS[2], #ARGV - 1)
return length
