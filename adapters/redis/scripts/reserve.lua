#!lua
-- Decides a batch of reserve requests in order, each on what the ones before it left.
--
-- ARGV    1 lease length us, 2 caller's time ms, 3-10 the voucher (TERMS), 11 number of settled reservations, then
--         order, version for each of them, then order, customer, amount, expires ms, actor for each request
-- Results 1, epoch, mode, sequence, change, lease left us, then code, record or '', pending 1 or 0 for each request:
--         1 reserved, 0 duplicate, -1 out of stock or a lease runs, -2 customer's limit, -4 other content, -5 stale,
--         -6 paused, -7 not started, -8 ended, -9 below the minimum, -10 given back as live elsewhere; or -3
--
-- Not flagged allow-oom: a full server refuses it before it begins.
local g = serving()
if not g then return {'-3'} end
local now, length, caller = clock(), tonumber(ARGV[1]), ARGV[2]
local stale = tonumber(ARGV[3]) < g.change
tell(g, 3)
lease_left(g, now, length)

local at = 12
for _ = 1, tonumber(ARGV[11]) do
	settle(ARGV[at], ARGV[at + 1])
	at = at + 2
end

-- Read together, written together: the batch costs a handful of commands.
local ids, customers, records, uses = {}, {}, {}, {}
for i = at, #ARGV, 5 do
	ids[#ids + 1], customers[#customers + 1] = ARGV[i], ARGV[i + 1]
end
if #ids > 0 then
	local r, u = redis.call('HMGET', ORDERS, unpack(ids)), redis.call('HMGET', USERS, unpack(customers))
	for i = 1, #ids do
		records[ids[i]], uses[customers[i]] = r[i], tonumber(u[i] or 0)
	end
end

local out = {}
local function reply(code, record, pending)
	out[#out + 1], out[#out + 2], out[#out + 3] = code, record or '', pending and '1' or '0'
end

local fresh, new_orders, new_users, new_pending = {}, {}, {}, {}
local at_ms, starts, ends = tonumber(caller), g.starts, g.ends
for i = at, #ARGV, 5 do
	local order, customer, amount = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local record = records[order]
	if record then
		local flag, who, much = string.match(record, '^(%u)|%d+|%d+|(%d+)|(%d+)|')
		local pending = fresh[order] or redis.call('ZSCORE', PENDING, order)
		if flag == 'C' then reply('-10', record, pending)
		elseif who == customer and much == amount then reply('0', record, pending)
		else reply('-4', record, pending) end
	elseif stale then reply('-5')
	elseif g.paused == 1 then reply('-6')
	elseif at_ms < starts then reply('-7')
	elseif at_ms >= ends then reply('-8')
	elseif tonumber(amount) < g.minimum then reply('-9')
	elseif uses[customer] >= g.per_user then reply('-2')
	elseif now < g.lease or g.remaining <= 0 then
		if now >= g.lease then g.lease = now + length end
		reply('-1')
	else
		g.seq, g.remaining, uses[customer] = g.seq + 1, g.remaining - 1, uses[customer] + 1
		record = table.concat({'L', g.epoch, str(g.seq), customer, amount, str(math.min(g.discount, tonumber(amount))),
			str(g.per_user), caller, ARGV[i + 3], ARGV[i + 4]}, '|')
		records[order], fresh[order], new_users[customer] = record, true, true
		new_orders[#new_orders + 1], new_orders[#new_orders + 2] = order, record
		new_pending[#new_pending + 1], new_pending[#new_pending + 2] = str(now), order
		reply('1', record, true)
	end
end

if #new_orders > 0 then
	redis.call('HSET', ORDERS, unpack(new_orders))
	redis.call('ZADD', PENDING, unpack(new_pending))
	local counts = {}
	for customer in pairs(new_users) do
		counts[#counts + 1], counts[#counts + 2] = customer, str(uses[customer])
	end
	redis.call('HSET', USERS, unpack(counts))
end
save(g)
return {'1', g.epoch, g.mode, str(g.seq), str(g.change), str(math.max(0, g.lease - now)), unpack(out)}
