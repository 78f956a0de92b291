#!lua flags=no-writes
-- Shows the gate in numbers, and one page of its orders or customers.
--
-- ARGV    1 what: orders, users or nothing, 2 cursor, 3 about how many
-- Results 1, epoch, mode, change, total, remaining, number of orders, reminders, customers, pending, next cursor (0: the
--         end), then order, record, pending 1 or 0, or customer, uses, for each; or -3
local g = serving()
if not g then return {'-3'} end
local out = {'1', g.epoch, g.mode, str(g.change), str(g.total), str(g.remaining), str(g.n_orders), str(g.conflicted),
	str(g.n_users), str(g.n_pending), '0'}
if ARGV[1] == '' then return out end
local page = redis.call('HSCAN', ARGV[1] == 'orders' and ORDERS or USERS, ARGV[2], 'COUNT', ARGV[3])
out[11] = page[1]
for i = 1, #page[2], 2 do
	out[#out + 1] = page[2][i]
	out[#out + 1] = page[2][i + 1]
	if ARGV[1] == 'orders' then out[#out + 1] = redis.call('ZSCORE', PENDING, page[2][i]) and '1' or '0' end
end
return out
