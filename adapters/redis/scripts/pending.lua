#!lua flags=no-writes
-- Lists what has been pending for long, the oldest first.
--
-- ARGV    1 age us, 2 limit
-- Results 1, epoch, mode, then order, record for each; or -3
local g = serving()
if not g then return {'-3'} end
local out = {'1', g.epoch, g.mode}
local ids = redis.call('ZRANGEBYSCORE', PENDING, '-inf', str(clock() - tonumber(ARGV[1])), 'LIMIT', '0', ARGV[2])
if #ids > 0 then
	for i, record in ipairs(redis.call('HMGET', ORDERS, unpack(ids))) do
		out[#out + 1] = ids[i]
		out[#out + 1] = record
	end
end
return out
