-- payload_of(job): what is in a raw job that tells its id; nil when it cannot be read.
local function payload_of(job)
  local ok, payload = pcall(cjson.decode, job)
  if ok and type(payload) == 'table' and type(payload.jid) == 'string' then return payload end
end
