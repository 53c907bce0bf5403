-- is_error(reply): whether a guarded command was refused.
local function is_error(reply)
  return type(reply) == 'table' and reply.err ~= nil
end
