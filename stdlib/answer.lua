-- Checking of short mathematical answers.
--
--     local answer = require("answer")
--     return function(sample)
--       return answer.score(sample.response, sample.answer)
--     end
--
-- An answer is found in a response by answer.extract: what the last \boxed{}
-- holds, else what follows the last "####", else what follows the last "answer
-- is", else the last number. Two answers are the same if their normal forms are
-- the same text, the same number (compared exactly, as fractions: 0.5, 1/2 and
-- \frac{1}{2} are one number, 0.333 and 1/3 are two), or lists of such.
-- Nothing is evaluated: sqrt(4) is not 2.

local answer = {}

-- The text between the brace at `at` and its partner, or nil.
local function braced(text, at)
  local group = text:match("^%b{}", at)
  return group and group:sub(2, -2)
end

-- What the last \boxed{...} (or \fbox{...}, or \boxed 5) holds; nil if there is
-- none, or if it was never closed.
function answer.boxed(text)
  local inside
  for at in text:gmatch("\\f?boxed%s*()") do
    inside = braced(text, at) or text:match("^[%w.%-]+", at)
  end
  for at in text:gmatch("\\fbox%s*()") do
    inside = inside or braced(text, at)
  end
  return inside
end

-- What follows the last occurrence of `marker` (a plain text) on its line.
function answer.after(text, marker)
  local from, at = nil, 1
  while true do
    local first, last = text:find(marker, at, true)
    if not first then
      break
    end
    from, at = last + 1, last + 1
  end
  return from and rlf.trim(text:match("^[^\n]*", from))
end

-- The last number in the text, as it is written: -1,234.5, 3/4, .5, 6e-3. A
-- digit after a letter (x2) begins no number.
function answer.last_number(text)
  local last, past = nil, 1
  for at, number in text:gmatch("()(%-?%.?%d[%d,./]*)") do
    local before = at > 1 and text:sub(at - 1, at - 1) or ""
    if before:find("[%d)]") then -- "5-3" has no minus three
      number = number:gsub("^[%-.]+", "")
    end
    if not before:find("%a") and at >= past then
      last = number:gsub("[,./]+$", "")
      past = at + #number
      local exponent = text:match("^[eE][+-]?%d+", past)
      if exponent then
        last, past = last .. exponent, past + #exponent
      end
    end
  end
  return last
end

function answer.extract(text)
  local found = answer.boxed(text) or answer.after(text, "####")
  if found then
    return found
  end
  local tail = answer.after(rlf.lower(text), "answer is")
  if not tail or tail == "" then
    return answer.last_number(text)
  end
  tail = tail:gsub("^[:%s]+", "")
  tail = tail:match("^(.-)[.;!?]%s") or tail:gsub("%.$", "")
  if tail:find("\\") or answer.fraction(answer.normal(tail)) then
    return tail
  end
  return answer.last_number(tail) or tail
end

-- Replace \name{inside} by what `how` makes of the inside.
local function command(text, name, how)
  local from = 1
  while true do
    local first, last = text:find("\\" .. name .. "%s*%f[{]", from)
    local inside = first and braced(text, last + 1)
    if not inside then
      return text
    end
    local put = how(inside)
    text = text:sub(1, first - 1) .. put .. text:sub(last + #inside + 3)
    from = first
  end
end

local function same(inside)
  return inside
end

local function nothing()
  return ""
end

-- \frac{a}{b}, \frac12 and a/b are written (a)/(b), without parentheses around
-- single numbers and letters.
local function fractions(text)
  local function side(s)
    return s:find("^%-?[%w.]+$") and s or "(" .. s .. ")"
  end
  text = text:gsub("\\[dtc]frac", "\\frac")
  local from = 1
  while true do
    local first, last = text:find("\\frac%s*", from)
    if not first then
      return text
    end
    local over = braced(text, last + 1)
    local at = over and last + #over + 3 or last + 2
    over = over or text:sub(last + 1, last + 1)
    local under = braced(text, at)
    local past = under and at + #under + 2 or at + 1
    under = under or text:sub(at, at)
    if over == "" or under == "" then
      return text
    end
    text = text:sub(1, first - 1) .. side(fractions(over)) .. "/" ..
      side(fractions(under)) .. text:sub(past)
    from = first
  end
end

-- The form in which answers are compared as texts.
function answer.normal(text)
  text = rlf.fold(text) or text
  text = text:gsub("\u{2044}", "/"):gsub("\u{2212}", "-")
  text = text:gsub("\\[!,;: ]", ""):gsub("\\left", ""):gsub("\\right", "")
  text = text:gsub("\\%$", ""):gsub("%$", ""):gsub("\\%%", ""):gsub("%%", "")
  text = text:gsub("%^%s*{\\circ}", ""):gsub("%^%s*\\circ", "")
  -- units in \text{ } at the end go; a text that is all there is stays
  local bare = command(text, "text", nothing)
  text = bare:find("%w") and bare or command(text, "text", same)
  for _, name in ipairs({"mathrm", "mathbf", "textbf", "mbox", "fbox"}) do
    text = command(text, name, same)
  end
  text = fractions(text)
  text = text:gsub("%s+", "")
  text = text:gsub("^%a=", "") -- x=5
  text = text:gsub("\\cdot", "*"):gsub("\\times", "*")
  text = text:gsub("^%+", ""):gsub("%.+$", "")
  -- thousands: 1,234 but not (1,2)
  local whole, rest = text:match("^(%-?%d%d?%d?,%d%d%d[%d,]*)(.*)$")
  if whole and rlf.number(whole) then
    text = whole:gsub(",", "") .. rest
  end
  return text
end

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

-- A decimal number without exponent as numerator, denominator; nil if it is
-- none, or has more digits than are exact.
local function decimal(text)
  local sign, whole, part = text:match("^([+-]?)(%d*)%.?(%d*)$")
  if not sign or #whole + #part == 0 then
    return nil
  end
  part = part:gsub("0+$", "")
  whole = whole:gsub("^0+", "")
  if #whole + #part > 17 then
    return nil
  end
  local over = math.tointeger(tonumber(whole .. part)) or 0
  return sign == "-" and -over or over, math.tointeger(10 ^ #part)
end

-- The number that a normal form is, as a fraction in lowest terms with a
-- positive denominator: numerator, denominator; nil if it is none.
function answer.fraction(text)
  local over, under = decimal(text)
  if not over then
    local a, b = text:match("^%(?(%-?[%d.]+)%)?/%(?(%-?[%d.]+)%)?$")
    local sign = 1
    if not a then
      a, b = text:match("^%-%(?([%d.]+)/([%d.]+)%)?$")
      sign = -1
    end
    if not a then
      return nil
    end
    local n, n_under = decimal(a)
    local d, d_under = decimal(b)
    -- only whole numbers of up to nine digits, so that nothing overflows
    if not n or not d or d == 0 or n_under ~= 1 or d_under ~= 1 or
        math.abs(n) > 999999999 or math.abs(d) > 999999999 then
      return nil
    end
    over, under = sign * n, d
  end
  if under < 0 then
    over, under = -over, -under
  end
  local g = gcd(math.abs(over), under)
  return over // g, under // g
end

-- Split "(1,2)" or "{1,2}" or "1,2" into its parts and its brackets.
local function parts(text)
  local open, inside, close = text:match("^(\\?[%(%[{])(.*)(\\?[%)%]}])$")
  local list, depth, from = {}, 0, 1
  inside = inside and inside:gsub("\\$", "") or text
  for at, c in inside:gmatch("()([%(%)%[%]{},])") do
    if c == "," and depth == 0 then
      list[#list + 1] = inside:sub(from, at - 1)
      from = at + 1
    elseif c:find("[%(%[{]") then
      depth = depth + 1
    elseif c ~= "," then
      depth = depth - 1
    end
  end
  list[#list + 1] = inside:sub(from)
  return list, (open or "") .. (close or "")
end

-- A decimal number of any length in one spelling; nil if it is none.
local function spelled(text)
  local sign, whole, part = text:match("^([+-]?)(%d*)%.?(%d*)$")
  if not sign or #whole + #part == 0 then
    return nil
  end
  whole, part = whole:gsub("^0+", ""), part:gsub("0+$", "")
  return (sign == "-" and whole .. part ~= "" and "-" or "") .. whole .. "." ..
    part
end

local function equal(a, b)
  if a == b then
    return true
  end
  local left, right = spelled(a), spelled(b)
  if left and right then
    return left == right
  end
  local a_over, a_under = answer.fraction(a)
  local b_over, b_under = answer.fraction(b)
  if a_over and b_over then
    return a_over == b_over and a_under == b_under
  end
  local x, y = rlf.number(a), rlf.number(b)
  if x and y then
    return x == y
  end
  return false
end

-- Are two answers the same?
function answer.same(a, b)
  a, b = answer.normal(a), answer.normal(b)
  if equal(a, b) then
    return a ~= ""
  end
  local list, brackets = parts(a)
  local other, others = parts(b)
  if #list ~= #other or #list < 2 or brackets ~= others then
    return false
  end
  for i = 1, #list do
    if not equal(list[i], other[i]) then
      return false
    end
  end
  return true
end

-- 1 if the response's answer is the truth, else 0. The truth may be a whole
-- solution: then its own \boxed{} or "####" is what counts.
function answer.score(response, truth)
  truth = tostring(truth)
  local found = answer.extract(response)
  local want = answer.boxed(truth) or answer.after(truth, "####") or truth
  return found and answer.same(found, want) and 1 or 0
end

return answer
