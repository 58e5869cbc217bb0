-- The value of an expression, and the text that says the same for all its
-- notations. A value is a list of terms, which are added. A term is a radical
-- (answer/ radical.lua) times what cannot be computed, as texts: factors over
-- and under the line, each with the exponent that stands there in all. Numbers
-- are computed; letters are not multiplied out, nor cancelled: (x+1)^2 is not
-- x^2+2x+1, and 2(x+1) not 2x+2, as a question may ask for one of the two. nil
-- is what has no value: 1/0, 0^0.
--
-- Everything that has an inside stands in brackets, so that two values have one
-- text only if they are one: e^{2x} is e^(#2*x), e^2x is e^#2*x. Values are not
-- changed.

local number = require("answer.number")
local radical = require("answer.radical")

local term = {}

local HIGHEST = 64 -- exponent that goes to each factor of a product

local one = radical.of(number.integer(1))

-- ---- values ----

-- {free = has letters that may be anything, [i] = {c = radical, over = factors,
-- under = factors}}, where factors are {[i] = {text, exponent}}.
local function single(c, over, under, free)
  return {{c = c, over = over, under = under}, free = free}
end

-- A number (answer/number.lua), and a text that stands for itself; it is `fixed`
-- if there is no letter in it but constants.
function term.number(n)
  return single(radical.of(n), {}, {}, false)
end

function term.factor(text, fixed)
  return single(one, {{text, 1}}, {}, not fixed)
end

local function lone(c)
  return single(c, {}, {}, false)
end

-- The radical that a value is; nil if it has other factors.
local function constant(v)
  local t = v[1]
  return #v == 1 and #t.over == 0 and #t.under == 0 and t.c or nil
end

-- The number that a value is, or nil.
function term.value(v)
  local c = constant(v)
  return c and radical.number(c)
end

-- ---- texts ----

-- A text as part of a larger factor: in brackets, unless it is one number,
-- letter, or bracket.
local function enclosed(text)
  if text:find("^#?%w+$") or text:find("^\\?%a*%b()$") or
      text:find("^\\%a+$") or text:find("^[\xc2-\xf4][\x80-\xbf]*$") then
    return text
  end
  return "(" .. text .. ")"
end

local function factors(list)
  local out = {}
  for i, factor in ipairs(list) do
    out[i] = factor[2] == 1 and factor[1] or
      enclosed(factor[1]) .. "^#" .. factor[2]
  end
  table.sort(out)
  return table.concat(out, "*")
end

-- Returns what two terms have in common that can be added.
local function key(t)
  return factors(t.over) .. (#t.under > 0 and "|" .. factors(t.under) or "")
end

local function show_term(t)
  local lead, rest = radical.show(t.c), key(t)
  if rest == "" then
    return lead
  elseif lead == "#1" or lead == "-#1" then
    return lead:sub(1, -3) .. (#t.over == 0 and "#1" or "") .. rest
  end
  return lead .. (#t.over > 0 and "*" or "") .. rest
end

function term.show(v)
  if #v == 1 then
    return show_term(v[1])
  end
  local list = {}
  for i, t in ipairs(v) do
    list[i] = show_term(t)
  end
  table.sort(list)
  return "(" .. table.concat(list, "+") .. ")"
end

function term.part(v)
  return enclosed(term.show(v))
end

-- ---- products ----

-- Two lists of factors; those of one text become one.
local function joined(a, b)
  if #a == 0 or #b == 0 then
    return #a == 0 and b or a
  end
  local out, at = {}, {}
  for _, list in ipairs({a, b}) do
    for _, factor in ipairs(list) do
      local i = at[factor[1]]
      if i then
        out[i] = {factor[1], out[i][2] + factor[2]}
      else
        out[#out + 1], at[factor[1]] = factor, #out + 1
      end
    end
  end
  return out
end

function term.negative(v)
  local out = {free = v.free}
  for i, t in ipairs(v) do
    out[i] = {c = radical.negative(t.c), over = t.over, under = t.under}
  end
  return out
end

-- The term of all of a value: a sum is one factor in brackets. One of a sum and
-- its negative is that factor, so that (1-x)^2 is (x-1)^2.
local function gathered(v)
  if #v == 1 then
    return v[1]
  end
  local first, sign
  for _, t in ipairs(v) do
    local name = key(t)
    if not first or name < first then
      first, sign = name, number.sign(t.c[1].n)
    end
  end
  return {c = sign < 0 and radical.negative(one) or one,
    over = {{term.show(sign < 0 and term.negative(v) or v), 1}}, under = {}}
end

local function term_times(s, t)
  local c, over = radical.times(s.c, t.c), joined(s.over, t.over)
  if not c then
    over = joined(over, joined({{enclosed(radical.show(s.c)), 1}},
      {{enclosed(radical.show(t.c)), 1}}))
  end
  return {c = c or one, over = over, under = joined(s.under, t.under)}
end

local function each(v, t)
  local out = {free = v.free}
  for i, s in ipairs(v) do
    out[i] = term_times(s, t)
  end
  return out
end

-- A number goes into a sum of constants, as in (2+\pi)/4; other sums stay.
function term.times(v, w)
  local c, d = constant(v), constant(w)
  if d and #v > 1 and not v.free then
    return each(v, w[1])
  elseif c and #w > 1 and not w.free then
    return each(w, v[1])
  elseif c and c == one or d and d == one then
    return c == one and w or v
  end
  return {term_times(gathered(v), gathered(w)), free = v.free or w.free}
end

function term.inverse(v)
  local t = gathered(v)
  if radical.is_zero(t.c) then
    return nil
  end
  local c, under = radical.inverse(t.c), t.over
  if not c then
    under = joined(under, {{enclosed(radical.show(t.c)), 1}})
  end
  return single(c or one, t.under, under, v.free)
end

function term.quotient(v, w)
  local inverse = term.inverse(w)
  return inverse and term.times(v, inverse)
end

-- ---- sums ----

-- Infinity less infinity is not 0.
local function may_vanish(t)
  for _, factor in ipairs(t.over) do
    if factor[1]:find("infty", 1, true) then
      return false
    end
  end
  return true
end

-- Terms of one key become one, in the order of the list.
local function collected(list, free)
  local at, out = {}, {free = free}
  for _, t in ipairs(list) do
    local name = key(t)
    local i = at[name]
    local c = i and may_vanish(t) and radical.add(out[i].c, t.c)
    if c then
      out[i] = {c = c, over = t.over, under = t.under}
    else
      out[#out + 1] = t
      at[name] = #out
    end
  end
  local kept = {free = free}
  for _, t in ipairs(out) do
    kept[#kept + 1] = not (radical.is_zero(t.c) and may_vanish(t)) and t or nil
  end
  if #kept == 0 then
    return term.number(number.integer(0))
  end
  return kept
end

-- The sum of a list of values.
function term.sum(values)
  if #values == 1 then
    return values[1]
  end
  local list, free, texts = {}, false, {}
  for _, v in ipairs(values) do
    free = free or v.free
    for _, t in ipairs(v) do
      list[#list + 1] = t
      texts[t] = show_term(t)
    end
  end
  -- numbers that pass the integers do so in any order
  table.sort(list, function(s, t) return texts[s] < texts[t] end)
  return collected(list, free)
end

-- ---- powers ----

-- The power of an integer goes to all factors of a product.
local function raised(v, n)
  local t = gathered(v)
  local c = radical.power(t.c, math.abs(n), 1)
  if not c or math.abs(n) > HIGHEST then
    return nil
  end
  local function all(list)
    local out = {}
    for i, factor in ipairs(list) do
      out[i] = {factor[1], factor[2] * math.abs(n)}
    end
    return out
  end
  local out = single(c, all(t.over), all(t.under), v.free)
  return n < 0 and term.inverse(out) or out
end

-- The exponent p/q of two integers; nil if it is another.
local function exponent(w)
  local n = term.value(w)
  return n and n.over, n and n.under
end

local function opaque_power(v, w)
  return term.factor(term.part(v) .. "^" .. term.part(w),
    not (v.free or w.free))
end

function term.power(v, w)
  local p, q = exponent(w)
  local c = constant(v)
  if c and radical.is_zero(c) then
    return p and p > 0 and v or nil
  elseif p == 1 and q == 1 then
    return v
  end
  local out = c and p and radical.power(c, p, q)
  if out then
    return lone(out)
  end
  return q == 1 and p ~= 0 and (not c or #v > 1) and raised(v, p) or
    opaque_power(v, w)
end

-- The root of a value; of a negative number it is i times one, or, if the degree
-- is odd, the real one.
function term.root(v, degree)
  local n, k = term.value(v), degree and term.value(degree)
  if not degree then
    k = number.integer(2)
  end
  if k and k.under == 1 and k.over > 0 and n and number.sign(n) < 0 then
    local root = (k.over == 2 or k.over % 2 == 1) and
      radical.power(radical.of(number.negative(n)), 1, k.over)
    if root and k.over == 2 then
      return single(root, {{"i", 1}}, {}, false)
    elseif root then
      return lone(radical.negative(root))
    end
  end
  local exponent = degree and term.inverse(degree) or not degree and
    term.number(number.fraction(1, 2))
  return exponent and term.power(v, exponent)
end

function term.factorial(v)
  local n = term.value(v)
  n = n and number.factorial(n)
  return n and term.number(n) or term.factor(term.part(v) .. "!", not v.free)
end

function term.binomial(v, w)
  local n, k = term.value(v), term.value(w)
  n = n and k and number.binomial(n, k)
  return n and term.number(n) or term.factor("\\binom(" .. term.show(v) .. ";" ..
    term.show(w) .. ")", not (v.free or w.free))
end

-- |v|, and \lfloor v \rfloor and \lceil v \rceil, of numbers.
function term.absolute(v)
  local n = term.value(v)
  if n then
    return term.number(number.sign(n) < 0 and number.negative(n) or n)
  end
  return term.factor("\\abs(" .. term.show(v) .. ")", not v.free)
end

function term.rounded(v, name)
  local n = term.value(v)
  if n and name == "lceil" then
    n = number.floor(number.negative(n))
    n = n and number.negative(n)
  elseif n then
    n = number.floor(n)
  end
  return n and term.number(n) or
    term.factor("\\" .. name .. "(" .. term.show(v) .. ")", not v.free)
end

return term
