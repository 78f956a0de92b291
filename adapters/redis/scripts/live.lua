#!lua flags=no-writes
-- Lists all orders, if they are few.
--
-- ARGV    1 the most
-- Results 1, epoch, mode, sequence, 1 complete or 0 too many, then the orders; or -3
local g = serving()
if not g then return {'-3'} end
local out = {'1', g.epoch, g.mode, str(g.seq), '0'}
if g.n_orders <= tonumber(ARGV[1]) then
	out[5] = '1'
	for _, order in ipairs(redis.call('HKEYS', ORDERS)) do out[#out + 1] = order end
end
return out
