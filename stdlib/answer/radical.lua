-- Sums of roots with exact factors, such as 1/2 + 2*3^(1/2): the numbers that
-- answers are made of beside letters and functions. Each is a list of monomials,
-- a number and a product of powers of primes with exponents between 0 and 1, so
-- that \sqrt{12} and 2\sqrt{3}, 1/\sqrt{2} and \sqrt{2}/2 are one. Sums,
-- products, powers and inverses are exact; nil is what is none of these sums, or
-- too large (answer/number.lua). Radicals are not changed.

local number = require("answer.number")

local radical = {}

local MOST = 8 -- monomials of a radical
local LARGEST = 64 -- what the denominators of exponents may be
local HIGHEST = 32 -- what is raised: a sum, or a number to a fraction

local primes = {}
for n = 2, 1000 do
  local prime = true
  for _, p in ipairs(primes) do
    if p * p > n then
      break
    elseif n % p == 0 then
      prime = false
      break
    end
  end
  primes[#primes + 1] = prime and n or nil
end

-- ---- monomials ----

-- {n = a number, key = the text of its roots, [i] = {base, p, q}} for base^(p/q),
-- in the order of bases.
local function monomial(n, roots)
  local texts = {}
  for i, root in ipairs(roots) do
    texts[i] = root[1] .. "^" .. root[2] .. "/" .. root[3]
  end
  roots.n, roots.key = n, table.concat(texts, "*")
  return roots
end

-- n and the powers of some bases, {base, p, q} in order, each base once, as a
-- monomial.
local function carried(n, powers)
  local roots = {}
  for _, power in ipairs(powers) do
    local base, p, q = power[1], power[2], power[3]
    local whole = p // q
    local exponent = number.fraction(p - whole * q, q)
    if whole ~= 0 then
      local raised = number.power(number.integer(base), whole)
      n = raised and number.times(n, raised)
    end
    if not n or exponent.under > LARGEST then
      return nil
    elseif exponent.over ~= 0 then
      roots[#roots + 1] = {base, exponent.over, exponent.under}
    end
  end
  return monomial(n, roots)
end

local function product(a, b)
  local n = number.times(a.n, b.n)
  if not n then
    return nil
  elseif #a == 0 or #b == 0 then
    local roots = #a > 0 and a or b
    return monomial(n, table.move(roots, 1, #roots, 1, {}))
  end
  local powers, i, j = {}, 1, 1
  while a[i] or b[j] do
    local r, s = a[i], b[j]
    if r and s and r[1] == s[1] then
      powers[#powers + 1] = {r[1], r[2] * s[3] + s[2] * r[3], r[3] * s[3]}
      i, j = i + 1, j + 1
    elseif not s or r and r[1] < s[1] then
      powers[#powers + 1], i = r, i + 1
    else
      powers[#powers + 1], j = s, j + 1
    end
  end
  return carried(n, powers)
end

-- The bases of n, a positive integer, with their exponents times p/q, into
-- `powers`. Primes above 1000 are found where n is a power of one.
local function factored(n, p, q, powers)
  for _, prime in ipairs(primes) do
    if prime * prime > n then
      break
    end
    local k = 0
    while n % prime == 0 do
      n, k = n // prime, k + 1
    end
    if k > 0 then
      powers[#powers + 1] = {prime, k * p, q}
    end
  end
  for k = n > 1000000 and 6 or 1, 2, -1 do -- 1000^7 passes the integers
    local root = number.root(number.integer(n), k)
    if root then
      powers[#powers + 1] = {root.over, k * p, q}
      return
    end
  end
  if n > 1 then
    powers[#powers + 1] = {n, p, q}
  end
end

-- The power p/q of a monomial that is positive.
local function monomial_power(a, p, q)
  if number.sign(a.n) <= 0 or not a.n.over or q > LARGEST then
    return nil
  end
  local out
  local exact = number.root(a.n, q)
  if exact then
    local n = number.power(exact, p)
    out = n and monomial(n, {})
  else
    -- numerator and denominator have no base in common
    local powers = {}
    factored(a.n.over, p, q, powers)
    factored(a.n.under, -p, q, powers)
    table.sort(powers, function(r, s) return r[1] < s[1] end)
    out = carried(number.integer(1), powers)
  end
  if out and #a > 0 then
    local powers = {}
    for i, root in ipairs(a) do
      powers[i] = {root[1], root[2] * p, root[3] * q}
    end
    local roots = carried(number.integer(1), powers)
    out = roots and product(out, roots)
  end
  return out
end

-- ---- sums ----

function radical.of(n)
  return {{n = n, key = ""}}
end

-- The number that a radical is; nil if it has roots.
function radical.number(a)
  return #a == 1 and a[1].key == "" and a[1].n or nil
end

function radical.is_zero(a)
  return #a == 1 and a[1].n.over == 0
end

-- Monomials with one key become one; the order is that of the keys.
local function collected(list)
  local at, out = {}, {}
  for _, m in ipairs(list) do
    local i = at[m.key]
    if i then
      local n = number.add(out[i].n, m.n)
      if not n then
        return nil
      end
      out[i] = monomial(n, table.move(m, 1, #m, 1, {}))
    else
      out[#out + 1], at[m.key] = m, #out + 1
    end
  end
  local kept = {}
  for _, m in ipairs(out) do
    kept[#kept + 1] = m.n.over ~= 0 and m or nil
  end
  if #kept > MOST then
    return nil
  end
  table.sort(kept, function(m, n) return m.key < n.key end)
  return #kept > 0 and kept or radical.of(number.integer(0))
end

function radical.add(a, b)
  local list = table.move(a, 1, #a, 1, {})
  return collected(table.move(b, 1, #b, #list + 1, list))
end

function radical.times(a, b)
  local list = {}
  for _, m in ipairs(a) do
    for _, n in ipairs(b) do
      local p = product(m, n)
      if not p then
        return nil
      end
      list[#list + 1] = p
    end
  end
  return #list == 1 and list or collected(list)
end

function radical.negative(a)
  local out = {}
  for i, m in ipairs(a) do
    out[i] = table.move(m, 1, #m, 1, {n = number.negative(m.n), key = m.key})
  end
  return out
end

-- 1 / a. One of two monomials is made by (a + b)(a - b), if these are square
-- roots.
function radical.inverse(a)
  if #a == 1 then
    local n = number.inverse(a[1].n)
    local powers = {}
    for i, root in ipairs(a[1]) do
      powers[i] = {root[1], -root[2], root[3]}
    end
    local m = n and carried(n, powers)
    return m and {m}
  elseif #a > 2 then
    return nil
  end
  local other = {a[1], radical.negative({a[2]})[1]}
  local norm = radical.times(a, other)
  norm = norm and radical.number(norm)
  norm = norm and number.inverse(norm)
  return norm and radical.times(other, radical.of(norm))
end

-- a^(p/q), q > 0; a root is one of a single positive monomial.
function radical.power(a, p, q)
  if #a == 1 and q == 1 and a[1].key == "" then
    local n = number.power(a[1].n, p)
    return n and radical.of(n)
  elseif p < -HIGHEST or p > HIGHEST then
    return nil
  elseif q ~= 1 then
    local m = #a == 1 and monomial_power(a[1], p, q)
    return m and {m} or nil
  end
  if p < 0 then
    a, p = radical.inverse(a), -p
  end
  local out = radical.of(number.integer(1))
  repeat
    out = p % 2 == 0 and out or a and radical.times(out, a)
    p = p // 2
    a = p > 0 and a and radical.times(a, a)
  until p == 0 or not a or not out
  return p == 0 and out or nil
end

-- The text of each monomial, and its sign: "#2*\root(3^1/2)".
local function show(m)
  local text = number.show(m.n)
  if m.key == "" then
    return text
  end
  local sign, size = text:match("^(%-?)(.*)$")
  return sign .. (size == "#1" and "" or size .. "*") .. "\\root(" .. m.key .. ")"
end

-- One text for each radical; a sum stands in brackets.
function radical.show(a)
  if #a == 1 then
    return show(a[1])
  end
  local list = {}
  for i, m in ipairs(a) do
    list[i] = show(m)
  end
  return "(" .. table.concat(list, "+") .. ")"
end

return radical
