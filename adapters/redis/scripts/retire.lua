#!lua flags=allow-oom
-- Deletes a gate of an epoch or a lower one, or another server's.
--
-- ARGV    1 epoch, 2 force: 1 also one that serves and holds orders
-- Results 1, 1 none is left or 0 it stays
local m = redis.call('HMGET', META, 'state', 'server', 'epoch')
if m[2] == identity() then
	local holds = m[1] == 'open' and redis.call('HLEN', ORDERS) > 0
	if tonumber(m[3]) > tonumber(ARGV[1]) or (holds and ARGV[2] ~= '1') then return {'1', '0'} end
end
redis.call('UNLINK', REMAINING, USERS, ORDERS, META, PENDING)
return {'1', '1'}
