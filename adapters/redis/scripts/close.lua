#!lua flags=allow-oom
-- Closes the gate under an epoch and empties it.
--
-- ARGV    1 epoch
-- Results 1, this server's identity; or -20 when the gate has a higher epoch, or this one and is open
local server = identity()
local m = redis.call('HMGET', META, 'state', 'server', 'epoch')
if m[2] == server then
	local epoch, mine = tonumber(m[3]), tonumber(ARGV[1])
	if epoch > mine or (epoch == mine and m[1] == 'open') then return {'-20'} end
	if epoch == mine then
		redis.call('HSET', META, 'epoch', ARGV[1]) -- for a WAIT behind it
		return {'1', server}
	end
end
-- UNLINK frees a large hash beside the server's main thread.
redis.call('UNLINK', REMAINING, USERS, ORDERS, META, PENDING)
redis.call('HSET', META, 'state', 'closed', 'server', server, 'epoch', ARGV[1], 'closed', str(clock()))
return {'1', server}
