-- Expressions: what is read as one, and the text that says the same for all its
-- notations. Sums and products are in order, fractions and signs in one place,
-- and numbers exact (answer/number.lua). Everything that has an inside stands in
-- brackets, so that two expressions have one text only if they are one: e^{2x}
-- is e^(#2*x), e^2x is e^#2*x.

local notation = require("answer.notation")
local number = require("answer.number")

local expression = {}

local DEEPEST = 40 -- brackets within brackets

-- ---- terms ----

-- A term is a product: a sign, and factors over and under the line, as texts.
-- One that begins with # is a number, @3 is 10^3.
local function product()
  return {sign = 1, over = {}, under = {}}
end

local function factor(text)
  return {sign = 1, over = {text}, under = {}}
end

-- A number as a term: numerator over denominator, so that 0.5 and 1/2 are read
-- as one.
local function numeric(n)
  local over, under = n:match("^(#%d+)/(%d+)$")
  return {sign = 1, over = {over or n}, under = {under and "#" .. under}}
end

local function multiply(p, q)
  p.sign = p.sign * q.sign
  table.move(q.over, 1, #q.over, #p.over + 1, p.over)
  table.move(q.under, 1, #q.under, #p.under + 1, p.under)
end

-- The number that is all of a term; nil if it is another.
local function lone(p)
  local over, under = p.over[1], p.under[1] or "#1"
  if #p.over == 1 and #p.under <= 1 and number.is(over) and
      number.is(under) then
    return number.quotient(over, under)
  end
  return nil
end

local function divide(p, q)
  local a, b = lone(p), lone(q)
  local n = a and b and number.quotient(a, b)
  if n then
    n = numeric(n)
    p.sign, p.over, p.under = p.sign * q.sign, n.over, n.under
    return
  end
  p.sign = p.sign * q.sign
  table.move(q.under, 1, #q.under, #p.over + 1, p.over)
  table.move(q.over, 1, #q.over, #p.under + 1, p.under)
end

-- Factors apart: the numbers, the others, and the exponent of ten.
local function parted(list)
  local numbers, others, tens = {}, {}, nil
  for _, text in ipairs(list) do
    local power = text:match("^@(.*)")
    if power then
      tens = (tens or 0) + math.tointeger(tonumber(power))
    elseif number.is(text) then
      numbers[#numbers + 1] = text
    else
      others[#others + 1] = text
    end
  end
  return numbers, others, tens
end

-- The number of a product, and its other factors in order. 2*3 stays 2*3, but a
-- number and a power of ten are one number, and so are two parted by a line.
local function reduced(p)
  local tops, over, up = parted(p.over)
  local bottoms, under, down = parted(p.under)
  local lead, tens = nil, (up or down) and (up or 0) - (down or 0)
  if #tops <= 1 and #bottoms <= 1 then
    lead = number.quotient(tops[1] or "#1", bottoms[1] or "#1")
    local scaled = lead and tens and number.scaled(lead, tens)
    lead, tens = scaled or lead, not scaled and tens or nil
  end
  if not lead then
    table.move(tops, 1, #tops, #over + 1, over)
    table.move(bottoms, 1, #bottoms, #under + 1, under)
  end
  over[#over + 1] = tens and "@" .. tens
  table.sort(over)
  table.sort(under)
  return lead, over, under
end

-- A product as text.
local function show(p)
  local lead, over, under = reduced(p)
  if lead == "#0" and #over == 0 and #under == 0 then
    return "#0"
  elseif #over == 0 or lead and lead ~= "#1" then
    table.insert(over, 1, lead or "#1")
  end
  return (p.sign < 0 and "-" or "") .. table.concat(over, "*") ..
    (#under > 0 and "|" .. table.concat(under, "*") or "")
end

-- A product as part of a larger factor: in brackets, unless it is one number,
-- letter, or bracket.
local function part(p)
  local text = show(p)
  if text:find("^[#@]?%w+$") or text:find("^\\?%a*%b()$") or
      text:find("^\\%a+$") or text:find("^[\xc2-\xf4][\x80-\xbf]*$") then
    return text
  end
  return "(" .. text .. ")"
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

local function power(p, q)
  return factor(part(p) .. "^" .. part(q))
end

-- ---- reading ----

local function quotient(p, q)
  local r = product()
  multiply(r, p)
  divide(r, q)
  return r
end

local function binomial(p, q)
  return factor("\\binom(" .. show(p) .. ";" .. show(q) .. ")")
end

local function set_of(text)
  local list = {}
  for _, word in ipairs(rlf.words(text)) do
    list[word] = true
  end
  return list
end

-- Commands whose argument follows, those that stand for themselves, those that
-- dress what they hold, and brackets; others cannot be read.
local functions = set_of([[sin cos tan cot sec csc arcsin arccos arctan sinh
    cosh tanh log ln lg exp det gcd lcm deg]])
local symbols = set_of([[pi infty alpha beta gamma delta epsilon zeta eta theta
    vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega
    ell emptyset prime star hbar]])
local dressed = set_of([[overline underline vec hat bar widehat overrightarrow
    overleftrightarrow tilde angle triangle]])
local closing = {lfloor = "rfloor", lceil = "rceil"}
local inverse = set_of("sin cos tan cot sec csc")

local reader = {}
reader.__index = reader

function reader:skip()
  self.at = self.text:match("^%s*()", self.at)
end

function reader:peek()
  self:skip()
  return self.text:sub(self.at, self.at)
end

-- The name of the command that is next.
function reader:command()
  self:skip()
  return self.text:match("^\\(%a+)", self.at)
end

-- Take a plain text that is next; false if another is.
function reader:take(text)
  self:skip()
  if self.text:sub(self.at, self.at + #text - 1) ~= text then
    return false
  end
  self.at = self.at + #text
  return true
end

-- What a command or a power takes: a group, or one thing.
function reader:argument()
  local c = self:peek()
  if c == "{" then
    return self:group("{", "}")
  elseif c:find("%d") then
    self.at = self.at + 1
    return numeric((number.read(c, 1)))
  end
  return self:atom()
end

-- A bracket with its partner; a over b and n choose k are whole groups.
function reader:group(open, close)
  self:take(open)
  self.depth = self.depth + 1
  if self.depth > DEEPEST then
    return nil
  end
  local bars = self.bars
  self.bars = close == "|"
  local inside = self:whole()
  self.depth, self.bars = self.depth - 1, bars
  return inside and self:take(close) and inside or nil
end

-- A sum, or \over or \choose between two.
function reader:whole()
  local p = self:sum()
  local name = p and self:command()
  if name ~= "over" and name ~= "choose" then
    return p
  end
  self:take("\\" .. name)
  local q = self:sum()
  if not q then
    return nil
  end
  return name == "choose" and binomial(p, q) or quotient(p, q)
end

function reader:root()
  local degree
  if self:peek() == "[" then
    degree = self:group("[", "]")
    if not degree then
      return nil
    end
  end
  local inside = self:argument()
  degree = degree and show(degree)
  return inside and factor("\\root(" .. (degree and degree ~= "#2" and degree ..
    ";" or "") .. show(inside) .. ")")
end

-- \frac{a}{b}, \binom{a}{b}
function reader:pair(name)
  local over = self:argument()
  local under = over and self:argument()
  if not under then
    return nil
  end
  return name == "binom" and binomial(over, under) or quotient(over, under)
end

function reader:named()
  local name = self:command()
  if not name then
    return nil
  end
  self:take("\\" .. name)
  if name == "frac" or name == "binom" then
    return self:pair(name)
  elseif name == "sqrt" then
    return self:root()
  elseif functions[name] then
    return self:applied(name)
  elseif closing[name] then
    local inside = self:group("", "\\" .. closing[name])
    return inside and factor("\\" .. name .. "(" .. show(inside) .. ")")
  elseif dressed[name] then
    -- the points of a segment or of an angle, in their order
    local letters, past = self.text:match("^%s*{%s*(%a[%a%s]*)}()", self.at)
    if not letters then
      letters, past = self.text:match("^%s*(%a%a+)()", self.at)
    end
    if letters then
      self.at = past
      return factor("\\" .. name .. "(" .. letters:gsub("%s", "") .. ")")
    end
    local inside = self:argument()
    return inside and factor("\\" .. name .. "(" .. show(inside) .. ")")
  end
  return symbols[name] and factor("\\" .. name) or nil
end

-- What is raised or lowered after ^ or _, with its sign.
function reader:mark()
  local sign = self:take("-") and -1 or 1
  self:skip()
  -- 2^10, as people write it without braces
  local digits, past = self.text:match("^(%d+%.%d+)()", self.at)
  if not digits then
    digits, past = self.text:match("^(%d+)()", self.at)
  end
  local p
  if digits then
    self.at = past
    p = numeric((number.read(digits, 1)))
  else
    p = self:argument()
  end
  if p then
    p.sign = p.sign * sign
  end
  return p
end

-- \sin^2 3x, \log_2(8): a function of the bracket that follows, else of the
-- factors up to the next function or sign. \sin^2 x is (\sin x)^2, \sin^{-1} the
-- inverse.
function reader:applied(name)
  local raised, lowered
  local c = self:peek()
  while c == "^" and not raised or c == "_" and not lowered do
    self:take(c)
    local mark = self:mark()
    if not mark then
      return nil
    end
    raised, lowered = c == "^" and mark or raised, c == "_" and mark or lowered
    c = self:peek()
  end
  local inside
  if c == "(" then
    inside = self:group("(", ")")
  elseif c == "{" then
    inside = self:group("{", "}")
  else
    inside = product()
    repeat
      local p = self:factor()
      if not p then
        return nil
      end
      multiply(inside, p)
      c = self:peek()
      local word = self:command()
    until not (c:find("%w") or word and not functions[word]) or
      self:infix(word)
  end
  if not inside then
    return nil
  end
  if raised and inverse[name] and show(raised) == "-#1" then
    name, raised = "arc" .. name, nil
  end
  local p = factor("\\" .. name .. (lowered and "_" .. part(lowered) or "") ..
    "(" .. show(inside) .. ")")
  return raised and power(p, raised) or p
end

-- Is the command one that stands between two sums, or closes a bracket?
function reader:infix(word)
  return word == "over" or word == "choose" or word == "rfloor" or
    word == "rceil"
end

-- f(x): the value of a function, of which x is no factor; nil if it is none.
-- Functions are f and g, and h of one letter or number: h(a+b)/2 is a product.
function reader:value_of(letter)
  local of = letter == "h" and "^%(%s*%w+%s*%)" or letter:find("[fg]") and "^%("
  if not of or not self.text:find(of, self.at) then
    return nil
  end
  local before = self.at
  local inside = self:group("(", ")")
  if not inside then
    self.at = before
    return nil
  end
  return factor(letter .. "(" .. show(inside) .. ")")
end

-- A number; 0.1\overline{6} exactly.
function reader:numeral()
  local n, past = number.read(self.text, self.at)
  if not n then
    return nil
  end
  local whole, part, again, after =
    self.text:match("^(%d*)%.(%d*)\\overline%s*{(%d+)}()", self.at)
  if again then
    n, past = number.repeating(whole, part, again), after
  end
  self.at = past
  return n and numeric(n)
end

-- Letters are factors, as in 3xy, but four and more are a word.
function reader:letter()
  local word, past = self.text:match("^(%a%a%a%a+)()", self.at)
  if not word or self.text:find("^%a", self.at - 1) and self.at > 1 then
    word, past = self.text:match("^(%a)()", self.at)
  end
  if not word then
    word, past = self.text:match("^([\xc2-\xf4][\x80-\xbf]*)()", self.at)
  end
  if not word then
    return nil
  end
  self.at = past
  return #word == 1 and self:value_of(word) or factor(word)
end

-- A number, a letter, a command, a bracket.
function reader:atom()
  local c = self:peek()
  if c == "(" then
    return self:group("(", ")")
  elseif c == "{" then
    return self:group("{", "}")
  elseif c == "|" and not self.bars then
    local inside = self:group("|", "|")
    return inside and factor("\\abs(" .. show(inside) .. ")")
  elseif c == "\\" then
    return self:named()
  elseif c:find("[%d.]") then
    return self:numeral()
  end
  return self:letter()
end

-- An atom with its powers, indices and factorials.
function reader:factor()
  local p = self:atom()
  while p do
    local c = self:peek()
    if c == "^" or c == "_" then
      self:take(c)
      local mark = self:mark()
      if not mark then
        return nil
      end
      local text = show(mark)
      local exponent = text:match("^(%-?)#%d%d?%d?%d?$")
      if c == "_" then
        p = factor(part(p) .. "_" .. part(mark))
      elseif exponent and show(p) == "#10" then
        p = factor("@" .. text:gsub("#", ""))
      elseif text ~= "#1" then
        p = power(p, mark)
      end
    elseif c == "!" then
      self:take(c)
      p = factor(part(p) .. "!")
    else
      return p
    end
  end
  return nil
end

-- 1\frac{1}{2} and 1 1/2: a whole number and a fraction of two more.
function reader:mixed()
  for _, pattern in ipairs({"^(%d+)%s*\\frac%s*{%s*(%d+)%s*}%s*{%s*(%d+)%s*}()",
      "^(%d+)%s*\\frac%s*(%d)%s*(%d)()", "^(%d+)%s+(%d+)%s*/%s*(%d+)()"}) do
    local whole, over, under, past = self.text:match(pattern, self.at)
    if whole and #whole + #over + #under < 16 and tonumber(over) <
        tonumber(under) then
      self.at = past
      return numeric(number.quotient("#" .. math.tointeger(tonumber(whole) *
        tonumber(under) + tonumber(over)), (number.read(under, 1))))
    end
  end
  return nil
end

-- Does another factor follow without a sign?
function reader:goes_on(c)
  if c == "\\" then
    local word = self:command()
    return word and not self:infix(word)
  end
  return c:find("[%w({.]") or c == "|" and not self.bars or c:find("[\x80-\xff]")
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
    local last = self.text:sub(self.at - 1, self.at - 1)
    local c = self:peek()
    over = c ~= "/"
    if c == "*" or c == "/" then
      self:take(c)
      while self:peek() == "-" do
        self:take("-")
        p.sign = -p.sign
      end
    elseif not self:goes_on(c) then
      return p
    elseif c:find("[%d.]") and last:find("%d") then
      return nil -- 1 2
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
      self:take(c)
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
function expression.form(text)
  local self = setmetatable({text = text, at = 1, depth = 0, bars = false},
    reader)
  local p = self:whole()
  if p and self:peek() == "" then
    return show(p)
  end
  return nil
end

return expression
