-- jid_of(job): the id in a raw job; nil when it cannot be read.
local function jid_of(job)
  local ok, payload = pcall(cjson.decode, job)
  if ok and type(payload) == 'table' and type(payload.jid) == 'string' then return payload.jid end
end
