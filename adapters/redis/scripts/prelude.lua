-- What all scripts share; it is put below the first line of each.
--
-- KEYS of every script: 1 remaining, 2 users, 3 orders, 4 meta, 5 pending. ARGV and results are strings, as Lua's numbers
-- hold no more than 53 bits. A result is one flat list, which begins with 1, or with the reason why nothing was done:
--   -3 not loaded   -5 stale   -20 superseded   -21 unfit server   -22 limit below used
--
-- remaining  uses that are free
-- users      customer -> uses, absent at 0
-- orders     order -> record: flag|epoch|sequence|customer|amount|discount|per-user limit|created ms|expires ms|actor
--            flag L: holds a use; C: was given back, as its order is live on another voucher
-- pending    order, scored by the server's time in us when it was reserved
-- meta       the rest: see FIELDS, and closed, the server's time in us when the gate was closed
local REMAINING, USERS, ORDERS, META, PENDING = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TERMS = {'change', 'total', 'per_user', 'paused', 'starts', 'ends', 'minimum', 'discount'}
local FIELDS = {'state', 'server', 'epoch', 'mode', 'seq', 'lease', 'conflicted', 'n_orders', 'n_users', 'n_pending',
	'change', 'total', 'per_user', 'paused', 'starts', 'ends', 'minimum', 'discount'}

-- tostring would round above 14 digits.
local function str(n) return string.format('%.0f', n) end

-- The server's time in us. It measures leases and ages, nothing else.
local function clock()
	local t = redis.call('TIME')
	return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- run_id changes with a restart, master_replid with a failover: a failback brings the same run_id back.
local function identity()
	local info = redis.call('INFO', 'server', 'replication')
	return string.match(info, 'run_id:(%x+)') .. '-' .. string.match(info, 'master_replid:(%x+)')
end

-- The gate if it serves: open, whole, and written by this very server. The sizes find a key that is gone.
local function serving()
	local values = redis.call('HMGET', META, unpack(FIELDS))
	if values[1] ~= 'open' or values[2] ~= identity() then return nil end
	local g = {}
	for i, field in ipairs(FIELDS) do
		g[field] = values[i]
		if i > 4 then g[field] = tonumber(values[i]) end
	end
	g.remaining = tonumber(redis.call('GET', REMAINING) or nil)
	if not g.remaining or redis.call('HLEN', ORDERS) ~= g.n_orders or redis.call('HLEN', USERS) ~= g.n_users
		or redis.call('ZCARD', PENDING) ~= g.n_pending then
		return nil
	end
	return g
end

-- Writes the gate's numbers back. It always writes something: a WAIT behind a script that only read proves nothing.
local function save(g)
	redis.call('SET', REMAINING, str(g.remaining))
	redis.call('HSET', META, 'seq', str(g.seq), 'lease', str(g.lease), 'conflicted', str(g.conflicted),
		'n_orders', redis.call('HLEN', ORDERS), 'n_users', redis.call('HLEN', USERS), 'n_pending', redis.call('ZCARD', PENDING))
	if g.told then
		local terms = {}
		for _, field in ipairs(TERMS) do
			terms[#terms + 1] = field
			terms[#terms + 1] = str(g[field])
		end
		redis.call('HSET', META, unpack(terms))
	end
end

-- Takes over the whole voucher from ARGV[at] on, in the order of TERMS, unless the gate knows a later state. The total is
-- set, never moved by a difference that somebody else worked out.
local function tell(g, at)
	if tonumber(ARGV[at]) <= g.change then return end
	g.remaining = g.remaining + tonumber(ARGV[at + 1]) - g.total
	for i, field in ipairs(TERMS) do g[field] = tonumber(ARGV[at + i - 1]) end
	g.told = true
end

-- How long the sold-out lease still runs. A clock that was set back must not prolong it.
local function lease_left(g, now, length)
	g.lease = math.min(g.lease, now + length)
	return math.max(0, g.lease - now)
end

-- Whether the record is of that version, "epoch|sequence|".
local function is_version(record, version)
	return record and string.sub(record, 3, 2 + #version) == version
end

-- Takes a reservation out of pending and says whether it is held.
local function settle(order, version)
	local record = redis.call('HGET', ORDERS, order)
	if not is_version(record, version) or string.sub(record, 1, 1) ~= 'L' then return false end
	redis.call('ZREM', PENDING, order)
	return true
end

-- The state of the gate that was closed under this epoch on this very server; nil if it is another one.
local function sealed(epoch, server)
	local m = redis.call('HMGET', META, 'state', 'server', 'epoch')
	if m[2] ~= server or m[3] ~= epoch or identity() ~= server then return nil end
	return m[1]
end
