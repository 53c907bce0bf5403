-- Reads a page of a queue, newest first, going on from an earlier page although the queue has changed since.
-- KEYS[1] queue: the list
-- ARGV[1] start: position after the earlier page, 0 for the first one
-- ARGV[2] known: length of the queue at the earlier page, empty for the first one
-- ARGV[3] number: of jobs in a page
-- RETURNS: the length now, the position after this page, then the raw jobs
-- BUILDS: nothing
local length = redis.call('LLEN', KEYS[1])
local start, number = tonumber(ARGV[1]), tonumber(ARGV[3])
-- What was pushed and deleted in front has moved all others, what was fetched at the far end has not: so this may go
-- back too far and show a job twice, but never passes one over.
if ARGV[2] ~= '' then start = math.max(0, start + length - tonumber(ARGV[2])) end
local jobs = redis.call('LRANGE', KEYS[1], start, start + number - 1)
return {length, start + #jobs, unpack(jobs)}
