-- Exact numbers of answers, as texts that begin with #: "#7", "#3/4" in lowest
-- terms, and, where that would pass the integers, "#12E30" for 12 * 10^30. One
-- number has one text, however it was written. Signs are kept elsewhere: no
-- number here is negative.

local number = {}

local MOST = 17 -- digits that are an integer for certain

local function integer(text)
  return math.tointeger(tonumber(text))
end

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

-- digits * 10^exponent; digits are a text, maybe long.
local function spelled(digits, exponent)
  digits = digits:gsub("^0+", "")
  local short = digits:match("^(.-)0*$")
  exponent = exponent + #digits - #short
  if short == "" then
    return "#0"
  elseif exponent >= 0 and #short + exponent <= MOST then
    return "#" .. short .. ("0"):rep(exponent)
  elseif exponent < 0 and #short <= MOST and -exponent <= MOST then
    local over, under = integer(short), math.tointeger(10 ^ -exponent)
    local g = gcd(over, under)
    return "#" .. over // g .. "/" .. under // g
  end
  return "#" .. short .. "E" .. exponent
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
    return spelled(whole .. part, -#part), past
  end
  exponent = integer(exponent)
  return spelled(whole .. part, (sign == "-" and -exponent or exponent) - #part),
    after
end

-- What 0.1\overline{6} is: the digits before, and those that repeat; nil if
-- there are too many.
function number.repeating(whole, part, again)
  if #whole + #part + #again > 9 then
    return nil
  end
  local before = whole .. part == "" and 0 or integer(whole .. part)
  local over = integer(whole .. part .. again) - before
  return number.quotient("#" .. over, "#" ..
    math.tointeger(10 ^ #part * (10 ^ #again - 1)))
end

-- Numerator and denominator, as integers; nil if these pass them.
local function parts(n)
  local over, under = n:match("^#(%d+)/?(%d*)$")
  if over then
    return integer(over), under == "" and 1 or integer(under)
  end
  return nil
end

local function times(a, b)
  if not a or not b or b ~= 0 and a > math.maxinteger // b then
    return nil
  end
  return a * b
end

-- a / b; nil if it is none, or no pair of integers.
function number.quotient(a, b)
  local a_over, a_under = parts(a)
  local b_over, b_under = parts(b)
  if b == "#1" then
    return a
  elseif not a_over or not b_over or b_over == 0 then
    return nil
  elseif a_over == 0 then
    return "#0"
  end
  local g, h = gcd(a_over, b_over), gcd(a_under, b_under)
  local over = times(a_over // g, b_under // h)
  local under = times(a_under // h, b_over // g)
  if not over or not under then
    return nil
  end
  return "#" .. over .. (under == 1 and "" or "/" .. under)
end

-- n * 10^exponent; nil if that is no decimal number of integers, as 1/3 * 10^40.
function number.scaled(n, exponent)
  local digits, e = n:match("^#(%d+)E?(-?%d*)$")
  if digits then
    return spelled(digits, exponent + (e == "" and 0 or integer(e)))
  end
  local over, under = parts(n)
  for places = 0, over and MOST or -1 do
    local shift = math.tointeger(10 ^ places)
    if shift % under == 0 then
      local whole = times(over, shift // under)
      return whole and spelled("" .. whole, exponent - places)
    end
  end
  local shift = math.abs(exponent) <= MOST and "#" ..
    math.tointeger(10 ^ math.abs(exponent))
  return shift and number.quotient(n, exponent < 0 and shift or
    number.quotient("#1", shift)) or nil
end

-- The float nearest to a number.
function number.float(n)
  local over, under = parts(n)
  if over then
    return over / under
  end
  return tonumber((n:sub(2):gsub("E", "e")))
end

function number.is(text)
  return text:find("^#%d") ~= nil and not text:find("[^#%d/E-]")
end

return number
