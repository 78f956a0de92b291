#!lua flags=allow-oom
-- Takes reservations out of pending; only what is held may be told to anybody.
--
-- ARGV    order, version for each reservation
-- Results 1, then 1 held or 0 not for each; or -3
local g = serving()
if not g then return {'-3'} end
local out = {'1'}
for i = 1, #ARGV, 2 do
	out[#out + 1] = settle(ARGV[i], ARGV[i + 1]) and '1' or '0'
end
save(g)
return out
