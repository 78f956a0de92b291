#!lua flags=allow-oom
-- Frees the uses of reservations, each only if that version is there. A full server must be able to run it.
--
-- ARGV    1 epoch, 2 conflicted: 1 keeps the order as a reminder without a use, 0 removes it; then order, version for each
-- Results 1, then 1 was there or 0 not for each; or -3, also under another epoch
local g = serving()
if not g or g.epoch ~= ARGV[1] then return {'-3'} end
local out = {'1'}
for i = 3, #ARGV, 2 do
	local order = ARGV[i]
	local record = redis.call('HGET', ORDERS, order)
	local there = is_version(record, ARGV[i + 1])
	if there then
		local flag, customer = string.match(record, '^(%u)|%d+|%d+|(%d+)|')
		if flag == 'L' then
			g.remaining, g.conflicted = g.remaining + 1, g.conflicted + 1
			redis.call('ZREM', PENDING, order)
			if redis.call('HINCRBY', USERS, customer, -1) <= 0 then redis.call('HDEL', USERS, customer) end
			redis.call('HSET', ORDERS, order, 'C' .. string.sub(record, 2))
		end
		if ARGV[2] ~= '1' then
			g.conflicted = g.conflicted - 1
			redis.call('HDEL', ORDERS, order)
		end
	end
	out[#out + 1] = there and '1' or '0'
end
save(g)
return out
