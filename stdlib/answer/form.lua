-- The form in which short mathematical answers are compared: two answers are
-- the same if their forms are the same text.
--
-- An answer is LaTeX or plain text. What is only notation goes: spacing, \left,
-- $, braces, units, the order of a sum's terms, of a product's factors and of a
-- set's members. Nothing is computed but what a reader of numbers does: 0.5,
-- 1/2, \frac12 and 2/4 are one number, 1\frac12 is 3/2, 1{,}000 is 1000; but
-- \sqrt{4} is not 2, 2*3 is not 6, and (x+1)^2 is not x^2+2x+1. What cannot be
-- read as mathematics is compared as text.

local form = {}

local LONGEST = 4000 -- bytes of an answer that is read; longer ones are text
local DEEPEST = 40 -- brackets within brackets

-- ---- exact numbers ----

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

-- A decimal number as numerator, denominator; nil if it is none, or has more
-- digits than are exact.
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

-- a/b in lowest terms with a positive denominator; nil if that is none, or not
-- exact.
local function ratio(a, a_under, b, b_under)
  local most = 999999999
  if not a or not b or b == 0 then
    return nil
  end
  if b_under == 1 and b == 1 then
    b, b_under = 1, a_under
  elseif math.abs(a) > most or math.abs(b) > most or a_under > most or
      b_under > most then
    return nil
  else
    a, b = a * b_under, b * a_under
    b_under = b
  end
  local over, under = a, b_under
  if under < 0 then
    over, under = -over, -under
  end
  local g = gcd(math.abs(over), under)
  return over // g, under // g
end

-- A whole or decimal number of any length in one spelling.
local function spelled(text)
  local over, under = decimal(text)
  if over then
    over, under = ratio(over, under, 1, 1)
    return under == 1 and "#" .. over or "#" .. over .. "/" .. under
  end
  local whole, part = text:match("^(%d*)%.?(%d*)$")
  whole, part = whole:gsub("^0+", ""), part:gsub("0+$", "")
  return "#" .. whole .. (part ~= "" and "." .. part or "")
end

-- ---- notation that says nothing ----

-- The text between the brace at `at` and its partner, or nil.
function form.braced(text, at)
  local group = text:match("^%b{}", at)
  return group and group:sub(2, -2)
end

-- Replace \name{inside} by what `how` makes of inside, and what follows it.
local function command(text, name, how)
  local out, from = {}, 1
  while true do
    local first, last = text:find("\\" .. name .. "%s*%f[{]", from)
    local inside = first and form.braced(text, last + 1)
    if not inside then
      out[#out + 1] = text:sub(from)
      return table.concat(out)
    end
    out[#out + 1] = text:sub(from, first - 1)
    from = last + #inside + 3
    local put, past = how(inside, text, from)
    out[#out + 1] = put
    from = past or from
  end
end

local super = {
  ["\u{2070}"] = "0", ["\u{b9}"] = "1", ["\u{b2}"] = "2", ["\u{b3}"] = "3",
  ["\u{2074}"] = "4", ["\u{2075}"] = "5", ["\u{2076}"] = "6",
  ["\u{2077}"] = "7", ["\u{2078}"] = "8", ["\u{2079}"] = "9",
}

local signs = {
  {"\u{2044}", "/"}, {"\u{2212}", "-"}, {"\u{2013}", "-"}, {"\u{d7}", "*"},
  {"\u{b7}", "*"}, {"\u{22c5}", "*"}, {"\u{f7}", "/"}, {"\u{3c0}", "\\pi "},
  {"\u{221e}", "\\infty "}, {"\u{b0}", ""}, {"\u{b1}", "\\pm "},
  {"\u{222a}", "\\cup "}, {"\u{2264}", "\\le "}, {"\u{2265}", "\\ge "},
  {"\u{3b8}", "\\theta "}, {"\u{2260}", "\\ne "}, {"\u{2205}", "\\emptyset "},
}

local spaces = {
  "\\[!,;:> ]", "\\left%f[%A]", "\\right%f[%A]", "\\displaystyle%f[%A]",
  "\\quad%f[%A]", "\\qquad%f[%A]", "\\limits%f[%A]", "\\[bB]igg?[lr]?%f[%A]",
}

-- Spacing, dollars, percents, degrees; one name for each thing.
local function clean(text)
  text = text:gsub("\\\\", "\1") -- a matrix's rows
  -- before compatibility forms make "x2" of a square and "51/2" of five and a
  -- half
  for from, to in pairs(super) do
    text = text:gsub(from, "^{" .. to .. "}")
  end
  text = text:gsub("}%^{", "") -- of two of these
  text = text:gsub("(%d)(\u{bd})", "%1 %2"):gsub("(%d)(\u{bc})", "%1 %2")
    :gsub("(%d)(\u{be})", "%1 %2")
  text = text:gsub("\u{221a}%s*(%d+)", "\\sqrt{%1}"):gsub("\u{221a}", "\\sqrt ")
  text = rlf.fold(text) or text
  for _, pair in ipairs(signs) do
    text = text:gsub(pair[1], pair[2])
  end
  text = text:gsub("(%d){,}(%d)", "%1%2"):gsub("(%d),\\!%s*(%d)", "%1%2")
    :gsub("(%d)\\!,(%d)", "%1%2")
  text = text:gsub("%f[%d](%d%d?%d?)\\[, ](%d%d%d)%f[%D]", "%1%2")
  for _, pattern in ipairs(spaces) do
    text = text:gsub(pattern, " ")
  end
  text = text:gsub("\\%$", ""):gsub("%$", ""):gsub("\\%%", ""):gsub("%%", "")
  text = text:gsub("%^%s*{%s*\\circ%s*}", " "):gsub("%^%s*\\circ%f[%A]", " ")
  text = text:gsub("\\degree%f[%A]", " ")
  text = text:gsub("\\[dtc]frac%f[^%a]", "\\frac")
  text = text:gsub("\\cdot%f[%A]", "*"):gsub("\\times%f[%A]", "*")
    :gsub("\\div%f[%A]", "/")
  text = text:gsub("\\lbrace%f[%A]", "\\{"):gsub("\\rbrace%f[%A]", "\\}")
  text = text:gsub("\\leq%f[%A]", "\\le "):gsub("\\geq%f[%A]", "\\ge ")
    :gsub("\\leqslant%f[%A]", "\\le "):gsub("\\geqslant%f[%A]", "\\ge ")
    :gsub("\\lt%f[%A]", "<"):gsub("\\gt%f[%A]", ">"):gsub("<=", "\\le ")
    :gsub(">=", "\\ge "):gsub("\\neq%f[%A]", "\\ne ")
  text = text:gsub("\\varnothing%f[%A]", "\\emptyset ")
  text = text:gsub("%f[%a]([ap])%.%s*m%.", "%1m")
  return (text:gsub("[~\u{a0}]", " "))
end

local units = {}
for word in ([[cm mm m km in inch inches ft foot feet yd yard yards mile miles
    unit units square cubic sq degree degrees dollar dollars cent cents percent
    hour hours minute minutes second seconds day days week weeks month months
    year years kg g gram grams mg lb lbs pound pounds oz ounce ounces liter
    liters litre litres ml mph km/h kilometers meters metres centimeters
    people points times]]):gmatch("%S+") do
  units[word] = true
end

-- "5 cm^2" is 5: after a number, words that are units go.
local function without_units(text)
  local number, rest = text:match("^%s*([+-]?[%d.,/]+)%s+(%a.*)$")
  if not number then
    return text
  end
  rest = rest:gsub("%^%s*{?%s*%d%s*}?", " "):gsub("%.%s*$", "")
  for word in rest:gmatch("%S+") do
    if not units[word] then
      return text
    end
  end
  return number
end

local apart = " \2 " -- between the answers of "2 or 3"

-- \text{} and its kin: a text that is all there is stays; "or" and "and" part
-- answers; what follows a number is a unit and goes, with its power.
local function texts(text)
  local names = {"text", "textnormal", "textbf", "textit", "textrm", "textsf", "mathrm",
    "mathbf", "mathit", "mathsf", "mathbb", "mathcal", "boldsymbol", "mbox",
    "operatorname", "fbox", "boxed", "rm", "bf"}
  local outside = text
  for _, name in ipairs(names) do
    outside = command(outside, name, function() return "" end)
  end
  local alone = not outside:find("%w")
  local function keep(inside, whole, past)
    local word = rlf.trim(inside)
    if word == "or" or word == "and" then
      return apart
    end
    if alone or not outside:find("%d") then
      return " " .. inside .. " "
    end
    if word:find("^[ap]m$") then
      return word
    end
    local power = whole:match("^%s*%^%s*{?%d}?()", past)
    return " ", power
  end
  for i, name in ipairs(names) do
    -- \mathrm and its kin set letters that mean themselves
    text = command(text, name, i <= 6 and keep or name == "mbox" and keep or
      function(inside) return inside end)
  end
  return text
end

-- ---- reading an expression ----

-- A term is a product: a sign, and factors over and under the line, as texts.
-- That of a number begins with #.
local function product()
  return {sign = 1, over = {}, under = {}}
end

local function factor(text)
  return {sign = 1, over = {text}, under = {}}
end

local function number_of(text)
  local a, b = text:match("^#(%-?%d+)/(%d+)$")
  a = a or text:match("^#(%-?%d+)$")
  return a and math.tointeger(tonumber(a)), math.tointeger(tonumber(b or 1))
end

-- The one number among the factors: it is taken out; nil if there are several.
local function take_number(list)
  local found, rest
  for i, text in ipairs(list) do
    if text:sub(1, 1) == "#" then
      if found or not number_of(text) then
        return nil, list
      end
      found = i
    end
  end
  if not found then
    return "#1", list
  end
  rest = table.move(list, 1, found - 1, 1, {})
  return list[found], table.move(list, found + 1, #list, #rest + 1, rest)
end

-- A product as text: its number, the other factors in order.
local function show(p)
  local over, under = {table.unpack(p.over)}, {table.unpack(p.under)}
  local sign = p.sign
  local n, n_rest = take_number(over)
  local d, d_rest = take_number(under)
  local lead = ""
  if n and d then
    local a, a_under = number_of(n)
    local b, b_under = number_of(d)
    local x, y = ratio(a, a_under, b, b_under)
    if x then
      over, under = n_rest, d_rest
      if x < 0 then
        sign, x = -sign, -x
      end
      if x == 0 and #over == 0 and #under == 0 then
        return "#0"
      end
      lead = "#" .. x .. (y ~= 1 and "/" .. y or "")
    end
  end
  table.sort(over)
  table.sort(under)
  if lead ~= "" and (lead ~= "#1" or #over == 0) then
    table.insert(over, 1, lead)
  end
  local text = table.concat(over, "*")
  if text == "" then
    text = "#1"
  end
  if #under > 0 then
    text = text .. "|" .. table.concat(under, "*")
  end
  return (sign < 0 and "-" or "") .. text
end

-- A sum of terms as one term.
local function sum(terms)
  if #terms == 1 then
    return terms[1]
  end
  local list = {}
  for i, term in ipairs(terms) do
    list[i] = show(term)
  end
  table.sort(list)
  return factor("(" .. table.concat(list, "+") .. ")")
end

local function multiply(p, q)
  p.sign = p.sign * q.sign
  table.move(q.over, 1, #q.over, #p.over + 1, p.over)
  table.move(q.under, 1, #q.under, #p.under + 1, p.under)
end

local function divide(p, q)
  p.sign = p.sign * q.sign
  table.move(q.under, 1, #q.under, #p.over + 1, p.over)
  table.move(q.over, 1, #q.over, #p.under + 1, p.under)
end

local function words_of(text)
  local list = {}
  for word in text:gmatch("%S+") do
    list[word] = true
  end
  return list
end

-- Commands whose argument follows, those that stand for themselves, and those
-- that dress what they hold; others cannot be read.
local functions = words_of([[sin cos tan cot sec csc arcsin arccos arctan sinh
    cosh tanh log ln lg exp det gcd lcm deg]])
local symbols = words_of([[pi infty alpha beta gamma delta epsilon varepsilon
    zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi
    varphi chi psi omega ell emptyset prime star angle triangle hbar]])
local dressed = words_of([[overline underline vec hat bar widehat overrightarrow
    tilde]])

local reader = {}
reader.__index = reader

function reader:skip()
  self.at = self.text:match("^%s*()", self.at)
end

function reader:peek()
  self:skip()
  return self.text:sub(self.at, self.at)
end

-- What a command or a power takes: a group, or one thing.
function reader:argument()
  local c = self:peek()
  if c == "{" then
    return self:group("}")
  elseif c:find("%d") then
    self.at = self.at + 1
    return factor(spelled(c))
  end
  return self:atom()
end

-- A bracket with its partner.
function reader:group(close)
  self.at = self.at + 1
  self.depth = self.depth + 1
  if self.depth > DEEPEST then
    return nil
  end
  local inside = self:sum()
  self.depth = self.depth - 1
  if not inside or self:peek() ~= close then
    return nil
  end
  self.at = self.at + 1
  return inside
end

function reader:root()
  local degree = ""
  if self:peek() == "[" then
    local inside = self:group("]")
    if not inside then
      return nil
    end
    degree = show(inside)
  end
  local inside = self:argument()
  return inside and factor("root" .. degree .. "(" .. show(inside) .. ")")
end

function reader:fraction()
  local over = self:argument()
  local under = over and self:argument()
  if not under then
    return nil
  end
  local p = product()
  multiply(p, over)
  divide(p, under)
  return p
end

function reader:named()
  local name, past = self.text:match("^\\(%a+)()", self.at)
  if not name then
    return nil
  end
  self.at = past
  if name == "frac" then
    return self:fraction()
  elseif name == "sqrt" then
    return self:root()
  elseif functions[name] then
    return self:applied(name)
  elseif dressed[name] then
    local letters, past = self.text:match("^%s*{%s*(%a[%a%s]*)}()", self.at)
    if letters then -- the points of a segment, in their order
      self.at = past
      return factor("\\" .. name .. "(" .. letters:gsub("%s", "") .. ")")
    end
    local inside = self:argument()
    return inside and factor("\\" .. name .. "(" .. show(inside) .. ")")
  end
  return symbols[name] and factor("\\" .. name) or nil
end

-- \sin^2 3x, \log_2(8): a function of the bracket that follows, else of the
-- factors up to the next function or sign.
function reader:applied(name)
  local marks = {}
  local c = self:peek()
  while c == "^" or c == "_" do
    self.at = self.at + 1
    local sign = self:peek() == "-" and "-" or ""
    self.at = self.at + #sign
    local mark = self:argument()
    if not mark then
      return nil
    end
    marks[#marks + 1] = c .. sign .. show(mark)
    c = self:peek()
  end
  table.sort(marks)
  local inside
  if c == "(" then
    inside = self:group(")")
  else
    inside = product()
    repeat
      local p = self:factor()
      if not p then
        return nil
      end
      multiply(inside, p)
      c = self:peek()
      local word = self.text:match("^\\(%a+)", self.at)
    until not (c:find("%w") or word and not functions[word])
  end
  return inside and factor("\\" .. name .. table.concat(marks) .. "(" ..
    show(inside) .. ")")
end

-- 0.1\overline{6}, whose first digits were read: exactly, or nil.
function reader:repeating(digits)
  local whole, part = digits:match("^(%d*)%.(%d*)$")
  local again, past = self.text:match("^\\overline%s*{(%d+)}()", self.at)
  if not again or #whole + #part + #again > 9 then
    return nil
  end
  self.at = past
  local before = tonumber(whole .. part) or 0
  local over = tonumber(whole .. part .. again) - before
  local under = 10 ^ #part * (10 ^ #again - 1)
  over, under = ratio(math.tointeger(over), 1, math.tointeger(under), 1)
  return "#" .. over .. (under ~= 1 and "/" .. under or "")
end

-- f(x): the value of a function, of which x is no factor; nil if it is none.
-- Functions are f and g, and h of one letter or number: h(a+b)/2 is a product.
function reader:value_of(letter)
  local of = letter == "h" and "^%(%s*%w+%s*%)" or letter:find("[fg]") and "^%("
  if not of or not self.text:find(of, self.at) then
    return nil
  end
  local before = self.at
  local inside = self:group(")")
  if not inside then
    self.at = before
    return nil
  end
  return factor(letter .. "(" .. show(inside) .. ")")
end

-- A number, a letter, a command, a bracket.
function reader:atom()
  local c = self:peek()
  if c == "(" then
    return self:group(")")
  elseif c == "{" then
    return self:group("}")
  elseif c == "\\" then
    return self:named()
  elseif c:find("[%d.]") then
    local digits = self.text:match("^%d*%.?%d*", self.at)
    if not digits:find("%d") then
      return nil
    end
    self.at = self.at + #digits
    return factor(self:repeating(digits) or spelled(digits))
  elseif c:find("%a") or c:byte() and c:byte() >= 128 then
    local letter = self.text:match("^[%z\1-\127\194-\244][\128-\191]*", self.at)
    self.at = self.at + #letter
    return self:value_of(letter) or factor(letter)
  end
  return nil
end

-- The base of a power as text: in brackets, unless it is one factor without a
-- sign, and no power itself.
local function base(p)
  local text = show(p)
  local one = p.sign > 0 and #p.over == 1 and #p.under == 0
  if one and not text:find("[%^!]") then
    return text
  end
  return "(" .. text .. ")"
end

-- An atom with its powers, indices and factorials.
function reader:factor()
  local p = self:atom()
  while p do
    local c = self:peek()
    if c == "^" or c == "_" then
      self.at = self.at + 1
      local sign = self:peek() == "-" and -1 or 1
      if sign < 0 then
        self.at = self.at + 1
      end
      local digits = self.text:match("^%s*(%d+)", self.at)
      local power
      if digits then -- 2^10, as people write it without braces
        self.at = self.text:match("^%s*%d+()", self.at)
        power = factor(spelled(digits))
      else
        power = self:argument()
      end
      if not power then
        return nil
      end
      power.sign = power.sign * sign
      local text = show(power)
      if c == "_" or text ~= "#1" then
        p = factor(base(p) .. c .. text)
      end
    elseif c == "!" then
      self.at = self.at + 1
      p = factor(base(p) .. "!")
    else
      return p
    end
  end
  return nil
end

-- 1\frac{1}{2} and 1 1/2: a whole number and a fraction of two more.
function reader:mixed()
  local whole, over, under, past
  for _, pattern in ipairs({"^(%d+)%s*\\frac%s*{%s*(%d+)%s*}%s*{%s*(%d+)%s*}()",
      "^(%d+)%s*\\frac%s*(%d)%s*(%d)()", "^(%d+)%s+(%d+)%s*/%s*(%d+)()"}) do
    whole, over, under, past = self.text:match(pattern, self.at)
    if whole and #whole + #over + #under < 16 and tonumber(over) <
        tonumber(under) then
      local a, b, c = tonumber(whole), tonumber(over), tonumber(under)
      local p = product()
      p.over[1] = "#" .. math.tointeger(a * c + b)
      p.under[1] = "#" .. math.tointeger(c)
      self.at = past
      return p
    end
  end
  return nil
end

function reader:term()
  local p = product()
  self:skip()
  local q = self:mixed() or self:factor()
  local over = true
  while q do
    if over then
      multiply(p, q)
    else
      divide(p, q)
    end
    local c = self:peek()
    over = c ~= "/"
    if c == "*" or c == "/" then
      self.at = self.at + 1
      self:skip()
    elseif not c:find("[%w\\({.]") and not (c:byte() and c:byte() >= 128) then
      return p
    elseif self.text:find("^\\[{}]", self.at) then
      return p
    end
    q = self:factor()
  end
  return nil
end

function reader:sum()
  local terms = {}
  local c = self:peek()
  repeat
    local sign = 1
    while c == "+" or c == "-" do
      sign = c == "-" and -sign or sign
      self.at = self.at + 1
      c = self:peek()
    end
    local term = self:term()
    if not term then
      return nil
    end
    term.sign = term.sign * sign
    terms[#terms + 1] = term
    c = self:peek()
  until c ~= "+" and c ~= "-"
  return sum(terms)
end

-- The form of an expression that is all of the text, or nil.
local function expression(text)
  local self = setmetatable({text = text, at = 1, depth = 0}, reader)
  local p = self:sum()
  if p and self:peek() == "" then
    return show(p)
  end
  return nil
end

-- ---- lists, sets, intervals, matrices ----

-- The parts of a text between separators (a pattern of one character) that
-- stand in no bracket.
local function split(text, separator)
  local list, depth, from = {}, 0, 1
  for at, c in text:gmatch("()([%(%)%[%]{}" .. separator .. "])") do
    if c:find("[%(%[{]") then
      depth = depth + 1
    elseif c:find("[%)%]}]") then
      depth = depth - 1
    elseif depth == 0 then
      list[#list + 1] = text:sub(from, at - 1)
      from = at + 1
    end
  end
  list[#list + 1] = text:sub(from)
  return list
end

local read

-- x = 5, y = 2x, 5 = x: the letter, and what it is; nil if it is none.
local function named(text)
  local name, value = text:match("^%s*\\?(%a+)%s*=%s*(.*)$")
  if name and #name == 1 and value ~= "" then
    return name, value
  end
  value, name = text:match("^%s*([^=<>]*[^=<>%s])%s*=%s*(%a)%s*$")
  return name, value
end

-- Do the parts give values to several names? Then whose they are counts; with
-- one name, as in "x=2 or x=-2", they are its values.
local function several_names(list)
  local first
  for _, part in ipairs(list) do
    local name = named(part)
    if name and first and name ~= first then
      return true
    end
    first = first or name
  end
  return false
end

local function each(list, depth)
  local out = {}
  for i, part in ipairs(list) do
    out[i] = read(part, depth + 1)
  end
  return out
end

local function set(list, depth)
  local out, seen = {}, {}
  local forms = each(list, depth)
  if several_names(list) then
    for i, part in ipairs(list) do
      local name = named(part)
      forms[i] = (name and name .. "=" or "") .. forms[i]
    end
  end
  for _, part in ipairs(forms) do
    if not seen[part] then
      seen[part] = true
      out[#out + 1] = part
    end
  end
  table.sort(out)
  return out
end

-- A bracket that goes over the whole text: what opens it, what is inside, what
-- closes it.
local function bracket(text)
  local open, inside, close = text:match("^\\?([%(%[{])(.*)\\?([%)%]}])$")
  if not open then
    return nil
  end
  local depth = 0
  for at, c in text:gmatch("()([%(%)%[%]{}])") do
    depth = depth + (c:find("[%(%[{]") and 1 or -1)
    if depth == 0 and at < #text then
      return nil
    end
  end
  return open, inside:gsub("\\$", ""), close
end

local function matrix(text, depth)
  local kind, body = text:match("^\\begin%s*{(%a+)}(.*)\\end%s*{%a+}$")
  if not kind then
    return nil
  end
  if kind == "array" then
    body = body:gsub("^%s*%b{}", "")
  end
  local rows = {}
  for _, row in ipairs(rlf.split(body, "\1")) do
    if row:find("%S") then
      rows[#rows + 1] = table.concat(each(rlf.split(row, "&"), depth), "&")
    end
  end
  return (kind == "vmatrix" and "det[" or "matrix[") ..
    table.concat(rows, ";") .. "]"
end

-- a < b <= c, c >= b > a: in ascending order; nil if there is none of these
-- signs, or if some ascend and some descend.
local function order(text, depth)
  text = text:gsub("\\le%f[%A]", "\3"):gsub("\\ge%f[%A]", "\4")
  local sides, from = {}, 1
  local signs = {}
  for at, sign in text:gmatch("()([<>\3\4])") do
    sides[#sides + 1], from = text:sub(from, at - 1), at + 1
    signs[#signs + 1] = sign
  end
  local all = table.concat(signs)
  if all == "" or all:find("[<\3]") and all:find("[>\4]") or text:find("=") then
    return nil
  end
  sides[#sides + 1] = text:sub(from)
  sides = each(sides, depth)
  local out = {}
  for i = 1, #sides do -- from the smallest on
    local up = all:find("[<\3]")
    out[2 * i - 1] = sides[up and i or #sides + 1 - i]
    local sign = signs[up and i or #sides - i]
    out[2 * i] = sign and (sign:find("[<>]") and "<" or "<=")
  end
  return "rel[" .. table.concat(out) .. "]"
end

local relations = {"\\ne ", "=", "<", ">", "\\le%f[%A]", "\\ge%f[%A]",
  "\\ne%f[%A]", "\\approx%f[%A]", "\\equiv%f[%A]", "\\in%f[%A]",
  "\\to%f[%A]", ":"}

-- "a : b" as its two sides; the sides of an equation may change places.
local function relation(text, depth)
  for _, pattern in ipairs(relations) do
    local first, last = text:find(pattern)
    if first then
      local sides = each({text:sub(1, first - 1), text:sub(last + 1)}, depth)
      local sign = rlf.trim(text:sub(first, last))
      if sign == "=" or sign == "\\ne" then
        table.sort(sides)
      end
      return "rel[" .. table.concat(sides, sign) .. "]"
    end
  end
  return nil
end

local function plain(text)
  return (text:gsub("%s+", ""):gsub("%.+$", ""))
end

-- A few small letters that are no word, as in xy and kx.
local function is_product(text)
  return #text <= 3 and text:find("^%l+$") and
    (text:find("[xz]") or not text:find("[aeiouy]"))
end

-- Letters only: words, which are no product of letters.
local function is_words(text)
  return text:find("%a%a") and not text:find("[\\%d%^_+*/()=<>]") and
    not is_product(text)
end

-- The form of one answer, cleaned already.
function read(text, depth)
  text = rlf.trim(text)
  if depth > DEEPEST then
    return plain(text)
  end
  -- x = 5, x \in {1, 2}
  local _, value = named(text)
  text = value and not value:find("=") and value or text
  text = text:gsub("^%a%s*\\in%f[%A]%s*", "")
  if text == "" or is_words(text) then
    return plain(text)
  elseif text == "\\emptyset" then
    return "{}"
  end
  local sides = rlf.split(text, "\\cup")
  if #sides > 1 then
    return "union[" .. table.concat(set(sides, depth), ";") .. "]"
  end
  local open, inside, close = bracket(text)
  local list = split(inside or text, ",;")
  if open == "{" and (#list > 1 or text:sub(1, 1) == "\\") then
    return "{" .. table.concat(set(list, depth), ";") .. "}"
  elseif open and #list > 1 then
    return open .. table.concat(each(list, depth), ";") .. close
  elseif open == "(" and inside:find("^%s*%a%s*$") then
    return rlf.trim(inside) -- (A)
  elseif #list > 1 then
    return "{" .. table.concat(set(list, depth), ";") .. "}"
  end
  return matrix(text, depth) or order(text, depth) or relation(text, depth) or
    expression(text) or plain(text)
end

-- 1,234,567 or 1,234.5: commas of thousands, and no spaces.
local function thousands(text)
  local whole, part = text:match("^%s*([+-]?%d%d?%d?,%d%d%d[%d,]*)(%.?%d*)%s*$")
  if not whole or not rlf.number(whole) then
    return nil
  end
  return (whole:gsub(",", "")) .. part
end

-- a \pm b is a+b and a-b.
local function both_signs(text)
  if not text:find("\\[pm][mp]%f[%A]") then
    return text
  end
  return text:gsub("\\pm%f[%A]", "+"):gsub("\\mp%f[%A]", "-") .. apart ..
    text:gsub("\\pm%f[%A]", "-"):gsub("\\mp%f[%A]", "+")
end

-- The form of an answer.
function form.of(text)
  if #text > LONGEST then
    return plain(text)
  end
  text = texts(clean(text))
  text = text:gsub("%f[%a]or%f[%A]", apart):gsub("%f[%a]and%f[%A]", apart)
  text = rlf.trim(text:gsub("%.+%s*$", ""))
  text = without_units(text)
  text = thousands(text) or text
  local exponent = text:match("^[+-]?%d+%.?%d*e[+-]?%d+$")
  local x = exponent and rlf.number(exponent)
  if x and x == math.floor(x) and math.abs(x) < 1e15 then
    return read(string.format("%d", math.tointeger(x)), 0)
  end
  local list = {}
  for _, part in ipairs(rlf.split(text, "\2")) do
    for _, one in ipairs(rlf.split(both_signs(part), "\2")) do
      if one:find("%S") then
        one = rlf.trim(one:gsub("[,;]%s*$", ""))
        list[#list + 1] = thousands(one) or one
      end
    end
  end
  if #list == 1 then
    return read(list[1], 0)
  end
  -- "1, 2 or 3" is a list of three
  local all = {}
  for _, part in ipairs(list) do
    for _, one in ipairs(thousands(part) and {part} or split(part, ",")) do
      all[#all + 1] = one
    end
  end
  return #all == 0 and "" or "{" .. table.concat(set(all, 0), ";") .. "}"
end

-- Is it a number, when it is read?
function form.is_number(text)
  return form.of(text):find("^%-?#[%d./]+$") ~= nil
end

return form
