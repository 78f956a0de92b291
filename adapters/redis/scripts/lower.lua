#!lua flags=allow-oom
-- Makes the gate give up free uses before a lower total limit is stored.
--
-- ARGV    1 lease length us, 2 the total limit to come, 3-10 the voucher as stored now (TERMS)
-- Results 1, epoch, mode, change, total, lease left us; -3; -5 when the gate knows a later state; -22 when fewer uses are
--         free than would have to go
local g = serving()
if not g then return {'-3'} end
if tonumber(ARGV[3]) < g.change then return {'-5'} end
tell(g, 3)
local left = lease_left(g, clock(), tonumber(ARGV[1]))
local less, result = g.total - tonumber(ARGV[2]), '1'
if less > g.remaining and less > 0 then
	result = '-22'
elseif less > 0 then
	g.remaining, g.total, g.told = g.remaining - less, tonumber(ARGV[2]), true
end
save(g)
return {result, g.epoch, g.mode, str(g.change), str(g.total), str(left)}
