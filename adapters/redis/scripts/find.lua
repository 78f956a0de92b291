#!lua flags=no-writes
-- Looks orders up.
--
-- ARGV    orders
-- Results 1, epoch, mode, then record or '', pending 1 or 0 for each; or -3
local g = serving()
if not g then return {'-3'} end
local out = {'1', g.epoch, g.mode}
if #ARGV > 0 then
	for i, record in ipairs(redis.call('HMGET', ORDERS, unpack(ARGV))) do
		out[#out + 1] = record or ''
		out[#out + 1] = record and redis.call('ZSCORE', PENDING, ARGV[i]) and '1' or '0'
	end
end
return out
