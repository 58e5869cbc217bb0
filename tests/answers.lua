-- Fuzzing of answer checking, run by tests/unit/lua_library.c: the response says
-- which part, from where, and how much, or is a row of a data set. What a part
-- finds is an error with the answers in it; else the number of its checks is
-- given back. The evaluator here knows nothing of how answers are compared.

local answer = require("answer")

local parts = {}

-- One of 0 .. n - 1, the same in each run.
local function draw(n)
  return math.random(0, n - 1)
end

local function pick(list)
  return list[1 + draw(#list)]
end

-- ---- any character, anywhere ----

-- The places of a character in a response, and the truth.
local places = {
  {"so \\boxed{5%s}.", "5"}, {"so \\boxed{%s}", "x"}, {"The answer is %s5.", "5"},
  {"the answer is:\n $x%s$ %s", "x"}, {"#### %s 5", "5"}, {"%s", "%s"},
  {"\\boxed{5}", "%s5"}, {"\\boxed{\\frac{%s}{2}}", "2^%s"},
  {"The answer is (%s) because %s.", "%s"},
  {"\\boxed{\\text{%s} x^%s\\text{ %s}}", "\\sqrt%s"},
}

local function everywhere(text)
  local safe = text:gsub("%%", "%%%%")
  for _, place in ipairs(places) do
    answer.score(place[1]:gsub("%%s", safe), (place[2]:gsub("%%s", safe)))
  end
  return #places
end

function parts.latin(from, count)
  local checks = 0
  for code = from, from + count - 1 do
    checks = checks + everywhere(utf8.char(code))
  end
  return checks
end

-- Characters of these are alike: ideographs, syllables, and those of nobody.
local alike = {{0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3},
  {0xe000, 0xf8ff}}

-- Of those that are alike every 23rd is looked at.
local function is_passed(code)
  for _, range in ipairs(alike) do
    if code > range[1] and code < range[2] then
      return code % 23 ~= 0
    end
  end
  return false
end

-- All characters, each in some answer, and some of them in all places.
function parts.planes(from, count)
  local checks, row = 0, {}
  for code = from, from + count - 1 do
    local c = utf8.char(code >= 0xd800 and code <= 0xdfff and code + 0x10000 or
      code)
    if not is_passed(code) then
      row[#row + 1] = pick({"5%s", "x^%s", "%sx", "%s2"}):gsub("%%s", c)
    end
    if #row == 20 then
      answer.score("\\boxed{" .. table.concat(row, " or ") .. "}", c)
      answer.score(table.concat(row, " "), table.concat(row))
      row = {}
    end
    checks = checks + (code % 661 == 0 and everywhere(c) or 1)
  end
  return checks
end

function parts.bytes(from, count)
  local checks = 0
  for seed = from, from + count - 1 do
    local text = {}
    for i = 1, 1 + seed % 7 do
      text[i] = string.char((seed * 37 + i * i * 101 + seed // 256 * i) % 256)
    end
    checks = checks + everywhere(table.concat(text))
  end
  return checks
end

-- ---- expressions ----

local points = {{x = 1.37, y = 2.61}, {x = -0.43, y = 1.19}}

-- Functions that say nothing but which arguments they have: no two expressions
-- have one value by the laws of sines, nor by those of roots of letters.
local function opaque(kind, a, b)
  return math.sin(kind * 1.37 + a * 1.91 + (b or 0) * 2.33) + kind / 7
end

-- The integer that a value is but for rounding, or nil.
local function whole(a)
  local n = math.floor(a + 0.5)
  return math.abs(a - n) < 1e-9 and n or nil
end

local function chosen(n, k)
  local out = 1.0
  for i = 1, k do
    out = out * (n - k + i) / i
  end
  return out
end

-- Returns nil for a text that has no value, or a complex one. The last
-- argument: are the others numbers?
local meaning = {
  sum = function(a, b) return a + b end,
  difference = function(a, b) return a - b end,
  product = function(a, b) return a * b end,
  quotient = function(a, b)
    return math.abs(b) > 1e-12 and a / b or nil
  end,
  negative = function(a) return -a end,
  root = function(a) return a >= 0 and a ^ 0.5 or nil end,
  cube = function(a) return a < 0 and -(-a) ^ (1 / 3) or a ^ (1 / 3) end,
  sine = function(a) return opaque(3, a) end,
  absolute = function(a, _, fixed)
    return fixed and math.abs(a) or opaque(4, a)
  end,
  factorial = function(a, _, fixed)
    local n = fixed and whole(a)
    if not n or n < 0 or n > 10 then
      return opaque(5, a)
    end
    return ({[0] = 1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880,
      3628800})[n]
  end,
  log = function(a, b) return opaque(6, a, b) end,
  index = function(a, b) return opaque(7, a, b) end,
  binomial = function(a, b, fixed)
    local n, k = whole(a), whole(b)
    return fixed and n and k and k >= 0 and n >= k and chosen(n, k) or
      opaque(8, a, b)
  end,
  power = function(a, b)
    return math.abs(a) > 1e-12 and (a > 0 or b == math.floor(b)) and a ^ b or nil
  end,
}
local binary = {"sum", "sum", "difference", "product", "product", "product",
  "quotient", "quotient", "power", "power", "power", "log", "binomial"}
local unary = {"negative", "negative", "root", "cube", "sine", "absolute",
  "factorial", "index"}

local function leaf()
  local i = draw(8)
  return i < 3 and {letter = "x"} or i < 5 and {letter = "y"} or
    {number = pick({2, 3, 5, 10, 0.5, 1.2})}
end

local function tree(depth)
  if depth == 0 or draw(5) == 0 then
    return leaf()
  elseif draw(3) == 0 then
    local kind = pick(unary)
    if kind == "index" then
      return {kind = kind, {letter = "x"}, tree(depth - 1)}
    end
    return {kind = kind, tree(depth - 1)}
  end
  return {kind = pick(binary), tree(depth - 1), tree(depth - 1)}
end

-- Has it no letters?
local function is_fixed(t)
  return not t.letter and not (t[1] and not is_fixed(t[1])) and
    not (t[2] and not is_fixed(t[2]))
end

-- nil if it has no value, or one too large to be compared.
local function value(t, point)
  if not t.kind then
    return t.number or point[t.letter]
  end
  local a = value(t[1], point)
  local b = a and t[2] and value(t[2], point)
  if not a or t[2] and not b then
    return nil
  end
  local v = meaning[t.kind](a, b, is_fixed(t))
  return v and v == v and math.abs(v) < 1e4 and v or nil
end

local write

local function enclosed(text)
  return pick({"(" .. text .. ")", "\\left(" .. text .. "\\right)",
    "\\left( " .. text .. "\\right )", "{(" .. text .. ")}"})
end

-- An expression as text that binds at least as tight as `level`: 0 a sum, 1 a
-- product, 2 a factor, 3 what has no power.
local function within(t, level, bars)
  local text, has = write(t, bars)
  return has < level and enclosed(write(t, false)) or text
end

local function braced(t)
  local text = write(t, false)
  return #text == 1 and draw(2) == 0 and text or "{" .. text .. "}"
end

local function command(name, t)
  local text = braced(t)
  return "\\" .. name .. (text:find("^%a") and " " or "") .. text
end

local writers = {
  sum = function(a, b, bars)
    if draw(2) == 0 then
      a, b = b, a
    end
    return within(a, 1, bars) .. pick({"+", " + ", "+\\,"}) ..
      within(b, 1, bars), 0
  end,
  difference = function(a, b, bars)
    if draw(3) == 0 then
      return "-" .. within(b, 1, bars) .. "+" .. within(a, 1, bars), 0
    end
    return within(a, 1, bars) .. pick({"-", " - ", "−"}) ..
      within(b, 2, bars), 0
  end,
  product = function(a, b, bars)
    if draw(2) == 0 then
      a, b = b, a
    end
    a, b = within(a, 2, bars), within(b, 2, bars)
    local near = b:find("^[a-z(]") or b:find("^\\s") or b:find("^\\left%(")
    if near and draw(2) == 0 then
      return a .. pick({" ", "\\,", ""}) .. b, 1
    end
    return a .. pick({" \\cdot ", "\\times ", "*", "·", " × "}) .. b, 1
  end,
  quotient = function(a, b, bars)
    local way = draw(5)
    if way == 0 then
      return within(a, 2, bars) .. pick({"/", " / ", "÷", "\\div "}) ..
        within(b, 2, bars), 1
    elseif way == 1 then
      return "{" .. write(a, false) .. " \\over " .. write(b, false) .. "}", 2
    end
    local name = pick({"frac", "dfrac", "tfrac", "cfrac"})
    a = braced(a)
    b = braced(b)
    return "\\" .. name .. (a:find("^%a") and " " or "") .. a .. b, 2
  end,
  power = function(a, b, bars)
    local base = within(a, 3, bars)
    if #base == 1 and draw(4) == 0 then
      base = "{" .. base .. "}"
    end
    if b.number and math.type(b.number) == "integer" and draw(3) == 0 then
      return base .. ({[2] = "²", [3] = "³", [5] = "⁵", [10] = "¹⁰"})[b.number], 2
    end
    return base .. "^" .. braced(b), 2
  end,
  negative = function(a, _, bars)
    return "-" .. within(a, 1, bars), 0
  end,
  root = function(a)
    return command("sqrt", a), 3
  end,
  cube = function(a)
    return "\\sqrt[3]{" .. write(a, false) .. "}", 3
  end,
  sine = function(a)
    return "\\sin" .. pick({"(%s)", "\\left(%s\\right)", "{(%s)}"}):gsub("%%s",
      (write(a, false):gsub("%%", "%%%%"))), 2
  end,
  log = function(a, b)
    return "\\log_" .. braced(a) .. "(" .. write(b, false) .. ")", 2
  end,
  index = function(a, b)
    return write(a, false) .. "_" .. braced(b), 2
  end,
  factorial = function(a, _, bars)
    return within(a, 3, bars) .. "!", 2
  end,
  binomial = function(a, b)
    if draw(2) == 0 then
      return "{" .. write(a, false) .. " \\choose " .. write(b, false) .. "}", 3
    end
    return "\\binom{" .. write(a, false) .. "}{" .. write(b, false) .. "}", 3
  end,
  absolute = function(a, _, bars)
    if bars then
      return "(|" .. write(a, true) .. "|)", 3
    end
    return pick({"|%s|", "\\left|%s\\right|"}):gsub("%%s",
      (write(a, true):gsub("%%", "%%%%"))), 3
  end,
}

local numbers = {[0.5] = {"0.5", ".5", "0.50", "5e-1"},
  [1.2] = {"1.2", "1.20", "12e-01"}, [10] = {"10", "10.0"}}

-- The text, and how tight it binds. `bars`: it stands between bars already.
function write(t, bars)
  if t.number then
    return pick(numbers[t.number] or {tostring(t.number)}), 3
  elseif t.letter then
    return t.letter, 3
  end
  local text, level = writers[t.kind](t[1], t[2], bars)
  return text, level
end

local function close(v, w)
  return math.abs(v - w) <= 1e-7 * math.max(1, math.abs(v))
end

-- Some ways to write each of `count` expressions have one form, and expressions
-- of one form have one value.
function parts.expressions(_, count)
  local checks, seen = 0, {}
  while checks < count do
    local t = tree(1 + draw(3))
    local v, w = value(t, points[1]), value(t, points[2])
    local first = v and w and write(t, false)
    if first and #first < 80 then
      local is = answer.normal(first)
      local other = seen[is]
      if other and not (close(other.v, v) and close(other.w, w)) then
        error(("one form of two values: %s and %s: %s"):format(first,
          other.text, is))
      elseif is:find('^"') then
        error(("not read: %s"):format(first))
      end
      seen[is] = other or {text = first, v = v, w = w}
      for _, around in ipairs({"%s", "$%s$", "\\(%s\\)"}) do
        local again = around:gsub("%%s", (write(t, false):gsub("%%", "%%%%")))
        if not answer.same(first, again) then
          error(("two forms of one expression: %s and %s: %s and %s"):format(
            first, again, is, (answer.normal(again))))
        end
      end
      checks = checks + 1
    end
  end
  return checks
end

-- ---- numbers ----

-- The remainder of a fraction by a prime says which one it is, if numerator and
-- denominator are below 30000: no sum, product or quotient of remainders passes
-- the integers, however large those of fractions are.
local PRIME = 2147483647

local function power_of(r, n)
  local out = 1
  while n > 0 do
    out = n % 2 == 1 and out * r % PRIME or out
    r, n = r * r % PRIME, n // 2
  end
  return out
end

-- The fraction that a remainder is; nil if it is none with small parts.
local function fraction_of(r)
  local a, b, s, t = PRIME, r, 0, 1
  while b > 30000 do
    local q = a // b
    a, b, s, t = b, a - q * b, t, s - q * t
  end
  if t < 0 then
    b, t = -b, -t
  end
  return t < 30000 and t > 0 and b or nil, t
end

-- An expression of numbers: its text, how tight it binds, its remainder, its
-- value as a float, and how many digits a fraction of it may have; nil if it has
-- no value.
local amount

local arithmetic = {
  function(depth) -- a sum
    local a, m, r, v, h = amount(depth)
    local b, n, s, w, i = amount(depth)
    if not a or not b then
      return nil
    end
    b = n == 0 and enclosed(b) or b
    return a .. "+" .. b, 0, (r + s) % PRIME, v + w, h + i + 0.5
  end,
  function(depth) -- a difference
    local a, m, r, v, h = amount(depth)
    local b, n, s, w, i = amount(depth)
    if not a or not b then
      return nil
    end
    b = n == 0 and enclosed(b) or b
    return a .. "-" .. b, 0, (r - s) % PRIME, v - w, h + i + 0.5
  end,
  function(depth) -- a product
    local a, m, r, v, h = amount(depth)
    local b, n, s, w, i = amount(depth)
    if not a or not b then
      return nil
    end
    a = m == 0 and enclosed(a) or a
    b = n < 2 and enclosed(b) or b
    return a .. pick({" \\cdot ", " \\times ", "*"}) .. b, 1, r * s % PRIME,
      v * w, h + i
  end,
  function(depth) -- a quotient
    local a, m, r, v, h = amount(depth)
    local b, n, s, w, i = amount(depth)
    if not a or not b or s == 0 then
      return nil
    end
    local text = "\\frac{" .. a .. "}{" .. b .. "}"
    if draw(2) == 0 then
      text = (m == 0 and enclosed(a) or a) .. pick({"/", " \\div "}) ..
        (n < 2 and enclosed(b) or b)
    end
    return text, 1, r * power_of(s, PRIME - 2) % PRIME, v / w, h + i
  end,
  function(depth) -- a power
    local a, m, r, v, h = amount(depth)
    local n = draw(7) - 2
    if not a or r == 0 and n <= 0 then
      return nil
    end
    local of = n < 0 and power_of(r, PRIME - 2) or r
    return (m < 3 and enclosed(a) or a) .. "^{" .. n .. "}", 2,
      power_of(of, math.abs(n)), v ^ n, h * math.abs(n)
  end,
  function(depth) -- a root of a power
    local a, m, r, v, h = amount(depth)
    if not a then
      return nil
    end
    local square = draw(2) == 0
    local text = (square and "\\sqrt{" or "\\sqrt[3]{") .. (m < 3 and enclosed(a) or
      a) .. (square and "^2}" or "^3}")
    local minus = square and v < -1e-9
    return text, 2, minus and -r % PRIME or r, minus and -v or v,
      h * (square and 2 or 3)
  end,
  function() -- a factorial, or n over k
    local n = draw(9)
    local k = draw(n + 1)
    local function factorial(m)
      return m < 2 and 1 or m * factorial(m - 1)
    end
    local over = factorial(n) // factorial(k) // factorial(n - k)
    if draw(2) == 0 then
      return "\\binom{" .. n .. "}{" .. k .. "}", 2, over, over, 3
    end
    return n .. "!", 2, factorial(n), factorial(n), 6
  end,
}

function amount(depth)
  if depth == 0 or draw(6) == 0 then
    local n = draw(13)
    if draw(5) == 0 then -- a decimal
      return n .. ".5", 3, (2 * n + 1) * power_of(2, PRIME - 2) % PRIME, n + 0.5, 2
    end
    return "" .. n, 3, n, n, 2
  end
  return pick(arithmetic)(depth - 1)
end

-- Each is the fraction that its remainder is, and one form is one number.
function parts.numbers(_, count)
  local checks, seen = 0, {}
  while checks < count do
    local text, _, r, v, digits = amount(1 + draw(4))
    local over, under
    if text and digits < 17 and #text < 200 then
      over, under = fraction_of(r)
    end
    if text and #text < 200 then
      local is = answer.normal(text)
      if seen[is] and seen[is].r ~= r then
        error(("one form of two numbers: %s and %s: %s"):format(text,
          seen[is].text, is))
      end
      seen[is] = {r = r, text = text}
    end
    if over and math.abs(over / under - v) <= 1e-9 * math.abs(v) + 1e-9 then
      for _, way in ipairs({"%d/%d", "\\frac{%d}{%d}", "$%d \\div %d$"}) do
        local want = way:format(over, under)
        if not answer.same(text, want) then
          error(("not computed: %s is %s, not %s"):format(text, want,
            (answer.normal(text))))
        end
      end
      if answer.same(text, over + under .. "/" .. under) then
        error(("%s is not %d/%d + 1"):format(text, over, under))
      end
      checks = checks + 1
    end
  end
  return checks
end

-- A number of a data set is met by its own digits: as rows print it, with all
-- that a float may need, and as the quotient that it is; and not by its
-- neighbours.
function parts.floats(_, count)
  for _ = 1, count do
    local over, under = 1 + draw(1 << 20), 1 + draw(999)
    local truth = over / under
    local far = math.random(1 << 53, math.maxinteger)
    for text, of in pairs({[tostring(truth)] = math.tointeger(truth) or truth,
        [("%.17g"):format(truth)] = truth, [("%.17g"):format(-truth)] = -truth,
        [over .. "/" .. under] = truth, [far .. "/1"] = far + 0.0}) do
      text = text:gsub("^(.*)e%+?(.*)$", "%1 \\cdot 10^{%2}")
      if answer.score("The answer is $" .. text .. "$.", of) ~= 1 then
        error(("%s is not %.17g"):format(text, of))
      end
    end
    for _, other in ipairs({truth * (1 + 2 ^ -52), truth * (1 - 2 ^ -53)}) do
      if answer.score(("The answer is %.17g."):format(other), truth) ~= 0 then
        error(("%.17g is %.17g"):format(other, truth))
      end
    end
  end
  return count
end

-- (a + b sqrt d)/c in ways that algebra says are one, and some that are not.
function parts.radicals(_, count)
  local bases = {2, 3, 5, 6, 7, 10, 11, 1009, 30}
  for _ = 1, count do
    local a, b, c, k = 1 + draw(9), 1 + draw(6), 1 + draw(12), 1 + draw(5)
    local d = pick(bases)
    local norm, root = a * a - b * b * d, "\\sqrt{" .. d .. "}"
    local ways = {
      ("\\frac{%d+%d%s}{%d}"):format(a, b, root, c),
      ("\\frac{%d%s+%d}{%d}"):format(k * b, root, k * a, k * c),
      ("%d/%d+\\frac{%d\\sqrt{%d}}{%d}"):format(a, c, b, d * k * k, c * k),
      ("\\frac{%d}{%d}+\\sqrt{\\frac{%d}{%d}}"):format(a, c, b * b * d, c * c),
      ("\\frac{%d}{%d(%d-%d%s)}"):format(norm, c, a, b, root),
      ("\\frac{%d}{%d}+\\frac{%d}{%d\\sqrt{%d}}"):format(a, c, b * d, c, d),
      ("\\frac{(1+%s)(%d+%d%s)}{%d(1+%s)}"):format(root, a, b, root, c, root),
      ("\\frac{1}{%d}(\\sqrt[4]{%d}+%d%s)"):format(c, a * a * a * a, b, root),
      ("\\frac{%d}{%d}+\\frac{%d}{%d}%d^{0.5}"):format(a, c, b, c, d),
      ("\\frac{%d}{%d}+\\frac{%d}{%d}(%d^{3})^{1/6}"):format(a, c, b, c, d),
      ("\\frac{\\sqrt{2}(%d+%d%s)}{\\sqrt{%d}}"):format(a, b, root, 2 * c * c),
    }
    local others = {
      ("\\frac{%d-%d%s}{%d}"):format(a, b, root, c),
      ("\\frac{%d+%d%s}{%d}"):format(a, b + 1, root, c),
      ("\\frac{%d+%d\\sqrt{%d}}{%d}"):format(a, b, d + 1, c),
      ("\\frac{%d+%d\\sqrt[3]{%d}}{%d}"):format(a, b, d, c),
      ("\\frac{%d}{%d(%d+%d%s)}"):format(norm, c, a, b, root),
    }
    for _, way in ipairs(ways) do
      if not answer.same(ways[1], way) then
        error(("two forms of one number: %s: %s and %s: %s"):format(ways[1],
          (answer.normal(ways[1])), way, (answer.normal(way))))
      end
    end
    for _, other in ipairs(others) do
      if answer.same(ways[1], other) then
        error(("one form of two numbers: %s and %s"):format(ways[1], other))
      end
    end
  end
  return count
end

-- ---- references of data sets ----

-- A row as JSON: its solution is its own answer, and so is that answer, in a box
-- and after "answer is".
local function reference(row)
  row = rlf.json_decode(row)
  local solution = row.solution or row.answer
  local found = answer.extract(solution)
  for _, response in ipairs({solution, "\\boxed{" .. found .. "}",
      "The answer is $" .. found .. "$. So much for 3 of 4."}) do
    if answer.score(response, solution) ~= 1 then
      error(("%s is not %s, which is %s"):format(response, found,
        (answer.normal(found))))
    end
  end
  return 1
end

-- Rows of one data set that stand side by side have two answers. Those that are
-- one all the same are so for the eye: the same but for a unit, a sign of money
-- or the name whose value it is.
local function neighbours(first, second)
  local a, b = rlf.json_decode(first), rlf.json_decode(second)
  local x = answer.extract(a.solution or a.answer)
  local y = answer.extract(b.solution or b.answer)
  local same = answer.same(x, y)
  if same ~= answer.same(y, x) then
    error(("%s and %s are one answer in one order alone"):format(x, y))
  end
  local function bare(text)
    return (text:gsub("^%a%s*=", ""):gsub("\\[dt]?frac%s*(%d)(%d)", "\\frac{%1}{%2}")
      :gsub("\\d?frac", "\\frac"):gsub("\\text%s*%b{}", ""):gsub("%^\\circ", "")
      :gsub("[%$%%\\%s,]", ""))
  end
  if same ~= (bare(x) == bare(y)) then
    error(("%s and %s are %s"):format(x, y, same and "one answer" or "two"))
  end
  return 1
end

return function(sample)
  local first, second = sample.response:match("^({[^\n]*)\n([^\n]*)$")
  if first then
    reference(first)
    return neighbours(first, second)
  end
  local part, from, count = sample.response:match("^(%a+) (%d+) (%d+)$")
  if not part then
    return reference(sample.response)
  end
  return parts[part](math.tointeger(tonumber(from)),
    math.tointeger(tonumber(count)))
end
