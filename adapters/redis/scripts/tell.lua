#!lua flags=allow-oom
-- Gives the gate the whole voucher as of a change; a full server must be able to pause.
--
-- ARGV    1 lease length us, 2-9 the voucher (TERMS)
-- Results 1, epoch, mode, change, total, lease left us; or -3
local g = serving()
if not g then return {'-3'} end
tell(g, 2)
local left = lease_left(g, clock(), tonumber(ARGV[1]))
save(g)
return {'1', g.epoch, g.mode, str(g.change), str(g.total), str(left)}
