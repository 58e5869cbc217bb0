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

-- Where a character stands in a response, and the truth.
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

-- All characters, each in some answer, and some of them in all places.
function parts.planes(from, count)
  local checks, row = 0, {}
  for code = from, from + count - 1 do
    local c = utf8.char(code >= 0xd800 and code <= 0xdfff and code + 0x10000 or
      code)
    row[#row + 1] = pick({"5%s", "x^%s", "%sx", "%s2"}):gsub("%%s", c)
    if #row == 100 then
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

local points = {{x = 1.37, y = 2.61}, {x = 0.43, y = 1.19}}

-- Functions that say nothing but which arguments they have: no two expressions
-- have one value by the laws of roots or sines.
local function opaque(kind, a, b)
  return math.sin(kind * 1.37 + a * 1.91 + (b or 0) * 2.33) + kind / 7
end

local meaning = {
  sum = function(a, b) return a + b end,
  difference = function(a, b) return a - b end,
  product = function(a, b) return a * b end,
  quotient = function(a, b) return a / b end,
  negative = function(a) return -a end,
  root = function(a) return opaque(1, a) end,
  cube = function(a) return opaque(2, a) end,
  sine = function(a) return opaque(3, a) end,
  absolute = function(a) return opaque(4, a) end,
  factorial = function(a) return opaque(5, a) end,
  log = function(a, b) return opaque(6, a, b) end,
  index = function(a, b) return opaque(7, a, b) end,
  binomial = function(a, b) return opaque(8, a, b) end,
  power = function(a, b)
    return (a > 0 or b == math.floor(b)) and a ^ b or opaque(9, a, b)
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
  local v = meaning[t.kind](a, b)
  return v == v and math.abs(v) < 1e4 and v or nil
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

return function(sample)
  local part, from, count = sample.response:match("^(%a+) (%d+) (%d+)$")
  if not part then
    return reference(sample.response)
  end
  return parts[part](math.tointeger(tonumber(from)),
    math.tointeger(tonumber(count)))
end
