-- Exact numbers of answers: how they are read, their arithmetic, and the text
-- that each has. A number is a fraction of two integers in lowest terms, or,
-- where it passes these, decimal digits and an exponent of ten. Nothing is
-- rounded: a result that is neither is nil, and so is what has no value. Numbers
-- are not changed.
--
-- Texts begin with # after the sign: "#7", "-#3/4", "#12E30" for 12 * 10^30. One
-- number has one text, however it was written or computed, but for fractions
-- whose decimal digits need more than 18 places.

local number = {}

local PLACES = 18 -- 10^18 is the largest power of ten among the integers

-- The integer that digits are; nil if they pass the integers.
local function integer(digits)
  local n = tonumber(digits)
  return math.type(n) == "integer" and n or nil
end

local tens = {[0] = 1}
for i = 1, PLACES do
  tens[i] = tens[i - 1] * 10
end

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a < 0 and -a or a
end

-- Sums and products of integers; nil if they pass these. The smallest integer,
-- which has no negative, counts as passed.
local function plus(a, b)
  local c = a + b
  if c == math.mininteger or (a < 0) == (b < 0) and (c < 0) ~= (a < 0) then
    return nil
  end
  return c
end

local function times(a, b)
  if a == 0 or b == 0 then
    return 0
  elseif math.abs(a) > math.maxinteger // math.abs(b) then
    return nil
  end
  return a * b
end

-- over / under, two integers; under is not 0.
function number.fraction(over, under)
  if under == 1 then
    return {over = over, under = 1}
  end
  local g = gcd(over, under)
  g = under < 0 and -g or g
  return {over = over // g, under = under // g}
end

function number.integer(n)
  return {over = n, under = 1}
end

-- digits * 10^exponent, with a sign; digits are a text, maybe long.
local function spelled(sign, digits, exponent)
  local short = digits:gsub("^0+", "")
  exponent = exponent + #short
  short = short:match("^(.-)0*$")
  exponent = exponent - #short
  if short == "" then
    return {over = 0, under = 1}
  elseif exponent >= 0 and #short + exponent <= PLACES + 1 then
    local n = integer(short .. ("0"):rep(exponent))
    if n then
      return {over = sign * n, under = 1}
    end
  elseif exponent < 0 and -exponent <= PLACES then
    local n = integer(short)
    if n then
      return number.fraction(sign * n, tens[-exponent])
    end
  end
  return {sign = sign, digits = short, exponent = exponent}
end

-- The decimal number that begins at `at` (12, .5, 1.5e-3), and what follows it;
-- nil if there is none. 2e and 2e+1 are products and sums with the constant e:
-- an exponent follows at once, and has two digits after a plus, as programs
-- write it; 2e5_{16} has none.
function number.read(text, at)
  local whole, part, past = text:match("^(%d*)%.?(%d*)()", at)
  if #whole + #part == 0 then
    return nil
  end
  local sign, exponent, after = text:match("^e([+-]?)(%d+)()", past)
  if not exponent or #exponent > 9 or sign == "+" and #exponent < 2 or
      text:find("^%s*_", after) then
    return spelled(1, whole .. part, -#part), past
  end
  exponent = integer(exponent)
  return spelled(1, whole .. part,
    (sign == "-" and -exponent or exponent) - #part), after
end

-- Returns the parts of 0.1\overline{6}: the digits before, and those that
-- repeat; nil if there are too many.
function number.repeating(whole, part, again)
  if #whole + #part + #again > 9 then
    return nil
  end
  local before = whole .. part == "" and 0 or integer(whole .. part)
  return number.fraction(integer(whole .. part .. again) - before,
    tens[#part] * (tens[#again] - 1))
end

-- ---- arithmetic ----

function number.negative(a)
  if a.over then
    return {over = -a.over, under = a.under}
  end
  return {sign = -a.sign, digits = a.digits, exponent = a.exponent}
end

-- The sign: -1, 0 or 1.
function number.sign(a)
  local n = a.over or a.sign
  return n > 0 and 1 or n < 0 and -1 or 0
end

-- Sign, digits and exponent of ten; nil if a number has none, as 1/3.
local function decimal(a)
  if not a.over then
    return a.sign, a.digits, a.exponent
  end
  local under, places = a.under, 0
  while places < PLACES and tens[places] % under ~= 0 do
    places = places + 1
  end
  local over = tens[places] % under == 0 and
    times(a.over, tens[places] // under)
  if not over then
    return nil
  end
  local digits = "" .. math.abs(over)
  local short = digits:match("^(.-)0*$")
  return over < 0 and -1 or 1, short, #digits - #short - places
end

function number.add(a, b)
  if not a.over or not b.over then
    return a.over == 0 and b or b.over == 0 and a or nil
  end
  local g = gcd(a.under, b.under)
  local left, right = times(a.over, b.under // g), times(b.over, a.under // g)
  local under = times(a.under // g, b.under)
  local over = left and right and plus(left, right)
  return over and under and number.fraction(over, under) or nil
end

function number.times(a, b)
  if a.over and b.over then
    local g, h = gcd(a.over, b.under), gcd(b.over, a.under)
    if g == 0 or h == 0 then
      return {over = 0, under = 1}
    end
    local over = times(a.over // g, b.over // h)
    local under = times(a.under // h, b.under // g)
    if over and under then
      return {over = over, under = under}
    end
  elseif a.over == 0 or b.over == 0 then
    return {over = 0, under = 1}
  end
  local sign, digits, exponent = decimal(a)
  local other, more, e = decimal(b)
  if not sign or not other then
    return nil
  elseif digits == "1" or more == "1" then
    return spelled(sign * other, digits == "1" and more or digits, exponent + e)
  end
  local m, n = integer(digits), integer(more)
  local both = m and n and times(m, n)
  return both and spelled(sign * other, "" .. both, exponent + e) or nil
end

-- 1 / a
function number.inverse(a)
  if a.over == 0 then
    return nil
  elseif a.over then
    local sign = a.over < 0 and -1 or 1
    return {over = sign * a.under, under = sign * a.over}
  end
  return a.digits == "1" and spelled(a.sign, "1", -a.exponent) or nil
end

function number.quotient(a, b)
  local inverse = number.inverse(b)
  return inverse and number.times(a, inverse)
end

-- a^n of an integer n. All but 0, 1 and -1 pass the integers before n is 63.
function number.power(a, n)
  if n < 0 then
    a, n = number.inverse(a), -n
  end
  if not a or n == 0 and number.sign(a) == 0 then
    return nil
  elseif a.under == 1 and math.abs(a.over) <= 1 then
    return n % 2 == 0 and number.times(a, a) or a
  end
  local sign, digits, exponent = decimal(a)
  if digits == "1" and exponent ~= 0 and n < 1000000 then -- a power of ten
    return math.abs(exponent * n) < 1000000000 and
      spelled(n % 2 == 0 and 1 or sign, "1", exponent * n) or nil
  elseif n > 62 then
    return nil
  end
  local out = number.integer(1)
  repeat
    out = n % 2 == 0 and out or number.times(out, a)
    n = n // 2
    a = n > 0 and number.times(a, a)
  until n == 0 or not a or not out
  return n == 0 and out or nil
end

-- The number b with b^k = a, of a number that is not negative; nil if it is no
-- fraction.
function number.root(a, k)
  local function of(n)
    local near = math.floor((n + 0.0) ^ (1 / k) + 0.5)
    for r = math.max(near - 1, 0), near + 1 do
      local raised = 1
      for _ = 1, r > 1 and k or 1 do
        raised = raised and times(raised, r)
      end
      if raised == n then
        return r
      end
    end
    return nil
  end
  local over = a.over and of(a.over)
  local under = over and of(a.under)
  return under and {over = over, under = under} or nil
end

-- n! of an integer from 0 to 20.
function number.factorial(a)
  if a.under ~= 1 or a.over < 0 or a.over > 20 then
    return nil
  end
  local out = 1
  for i = 2, a.over do
    out = out * i
  end
  return number.integer(out)
end

-- n over k of integers with 0 <= k <= n.
function number.binomial(a, b)
  local n, k = a.over, b.over
  if a.under ~= 1 or b.under ~= 1 or k < 0 or k > n then
    return nil
  end
  k = math.min(k, n - k)
  local out = 1
  for i = 1, k do
    local g = gcd(out, i)
    out = times(out // g, (n - k + i) // (i // g))
    if not out then
      return nil
    end
  end
  return number.integer(out)
end

-- The largest integer that is not above a; nil beyond the integers.
function number.floor(a)
  return a.over and number.integer(a.over // a.under) or nil
end

-- ---- texts ----

function number.show(a)
  if not a.over then
    return (a.sign < 0 and "-#" or "#") .. a.digits .. "E" .. a.exponent
  end
  return (a.over < 0 and "-#" .. -a.over or "#" .. a.over) ..
    (a.under == 1 and "" or "/" .. a.under)
end

-- The number that a text is; nil if it is none.
function number.of(text)
  local sign, over, under = text:match("^(%-?)#(%d+)/?(%d*)$")
  if over then
    over = integer(over)
    return {over = sign == "-" and -over or over,
      under = under == "" and 1 or integer(under)}
  end
  local digits, exponent
  sign, digits, exponent = text:match("^(%-?)#(%d+)E(%-?%d+)$")
  return digits and {sign = sign == "-" and -1 or 1, digits = digits,
    exponent = integer(exponent)} or nil
end

-- The float nearest to over / under, two positive integers. The quotient has at
-- least 55 digits of base 2, the last of which is 1 if it is not exact, so that
-- the conversion to a float is the only step that rounds.
local function nearest(over, under)
  local whole, rest, exponent = over // under, over % under, 0
  while whole < 1 << 54 do
    rest = rest << 1 -- maybe above the integers, but below 2^64
    whole = whole << 1
    if not math.ult(rest, under) then
      rest = rest - under
      whole = whole | 1
    end
    exponent = exponent - 1
  end
  return (rest == 0 and whole or whole | 1) * 2.0 ^ exponent
end

-- The float nearest to a number.
function number.float(a)
  if not a.over then
    return a.sign * tonumber(a.digits .. "e" .. a.exponent)
  elseif a.over == 0 then
    return 0.0
  end
  local float = nearest(math.abs(a.over), a.under)
  return a.over < 0 and -float or float
end

return number
