#!lua
-- Lets the gate serve that a loader closed and filled.
--
-- ARGV    1 epoch, 2 identity, 3 lease length us, 4 mode, 5 remaining, 6 number of holds, 7-14 the voucher (TERMS)
-- Results 1, us to wait (0: it serves); -20 when the gate isn't the one closed under this epoch on this server, or its
--         holds are not all there; -21, the policy, when the server may evict the gate
local state = sealed(ARGV[1], ARGV[2])
if state == 'open' then return {'1', '0'} end
if state ~= 'closed' or redis.call('HLEN', ORDERS) ~= tonumber(ARGV[6]) then return {'-20'} end
local policy = string.match(redis.call('INFO', 'memory'), 'maxmemory_policy:([%w%-]+)')
if policy ~= 'noeviction' and string.sub(policy, 1, 9) ~= 'volatile-' then return {'-21', policy} end

-- No lease that the gate before it gave may outlive its being closed. A clock that was set back counts anew.
local now, length = clock(), tonumber(ARGV[3])
local closed = tonumber(redis.call('HGET', META, 'closed'))
if closed > now then
	closed = now
	redis.call('HSET', META, 'closed', str(now))
end
if closed + length > now then return {'1', str(closed + length - now)} end

local fields = {'state', 'open', 'mode', ARGV[4], 'seq', '0', 'lease', '0', 'conflicted', '0', 'n_pending', '0',
	'n_orders', ARGV[6], 'n_users', redis.call('HLEN', USERS)}
for i, field in ipairs(TERMS) do
	fields[#fields + 1], fields[#fields + 2] = field, ARGV[6 + i]
end
redis.call('SET', REMAINING, ARGV[5])
redis.call('HSET', META, unpack(fields))
return {'1', '0'}
