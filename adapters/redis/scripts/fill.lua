#!lua
-- Adds holds to the gate that a loader closed; one that is there already is left alone.
--
-- ARGV    1 epoch, 2 identity, then order, customer, record for each
-- Results 1; or -20 when the gate isn't the one closed under this epoch on this server
if sealed(ARGV[1], ARGV[2]) ~= 'closed' then return {'-20'} end
local ids, customers, uses, changed, new = {}, {}, {}, {}, {}
for i = 3, #ARGV, 3 do
	ids[#ids + 1], customers[#customers + 1] = ARGV[i], ARGV[i + 1]
end
if #ids == 0 then return {'1'} end
local there, counts = redis.call('HMGET', ORDERS, unpack(ids)), redis.call('HMGET', USERS, unpack(customers))
for i = 1, #ids do uses[customers[i]] = tonumber(counts[i] or 0) end
local seen = {}
for i, order in ipairs(ids) do
	if not there[i] and not seen[order] then
		seen[order] = true
		uses[customers[i]], changed[customers[i]] = uses[customers[i]] + 1, true
		new[#new + 1], new[#new + 2] = order, ARGV[2 + 3 * i]
	end
end
if #new > 0 then
	redis.call('HSET', ORDERS, unpack(new))
	local pairs_of = {}
	for customer in pairs(changed) do
		pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = customer, str(uses[customer])
	end
	redis.call('HSET', USERS, unpack(pairs_of))
end
return {'1'}
