-- Fires a slot of a periodic entry: whoever is first claims it and puts its job on the queue, in one step.
-- KEYS[1] lane: the list
-- KEYS[2] bell: the queue's bell
-- KEYS[3] queues: the set of all queue names
-- KEYS[4] slots: the hash of the last slots, entry to epoch seconds
-- KEYS[5] disabled: the set of entries that are switched off
-- KEYS[6] runs: the hash of the last runs
-- ARGV[1] queue_name: the queue's name
-- ARGV[2] prefix: of all keys
-- ARGV[3] lock_ttl: seconds that the lock of a unique job lasts
-- ARGV[4] status_ttl: milliseconds that a status lasts
-- ARGV[5] name: the entry's
-- ARGV[6] slot: epoch seconds
-- ARGV[7] job: the raw job
-- ARGV[8] id: of the job
-- ARGV[9] digest: of a unique one, else empty
-- ARGV[10] status: of one that is followed, else empty
-- RETURNS: fired, taken, disabled, early or blocked; an error of the queue leaves the slot to be fired
-- BUILDS: prefix .. unique: .. digest; prefix .. status: .. id
--- include lib/ring
--- include lib/is_error
--- include lib/clock
--- include lib/admit
--- include lib/last_slot
local name, slot = ARGV[5], tonumber(ARGV[6])
if redis.pcall('SISMEMBER', KEYS[5], name) == 1 then return 'disabled' end
if slot > clock() then return 'early' end
local last = last_slot(KEYS[4], name)
if last and last >= slot then return 'taken' end
local admission = admission(ARGV[2], tonumber(ARGV[3]), ARGV[4])
if not admission.admit(ARGV[8], ARGV[9], ARGV[10], 0) then return 'blocked' end
local reply = redis.pcall('LPUSH', KEYS[1], ARGV[7])
if is_error(reply) then
  admission.undone()
  return reply
end
redis.call('HSET', KEYS[4], name, ARGV[6])
redis.pcall('SADD', KEYS[3], ARGV[1])
ring(KEYS[2], 1)
admission.written()
local run = cjson.encode({jid = ARGV[8], slot = slot, outcome = 'queued'})
redis.pcall('HSET', KEYS[6], name, run)
return 'fired'
