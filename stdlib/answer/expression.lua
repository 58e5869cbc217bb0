-- Reading of expressions: what a text says, as a value (answer/term.lua), and
-- the form in which it is compared, which is one text for all notations. What
-- cannot be read whole has none.

local notation = require("answer.notation")
local number = require("answer.number")
local term = require("answer.term")

local expression = {}

local DEEPEST = 40 -- brackets within brackets
local MOST = 250 -- factors of a product that is read

local set_of = notation.set_of

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

-- Reads what a command or a power takes: a group, or one thing.
function reader:argument()
  local c = self:peek()
  if c == "{" then
    return self:group("{", "}")
  elseif c:find("%d") then
    self.at = self.at + 1
    return term.number(number.integer(math.tointeger(tonumber(c))))
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
  return name == "choose" and term.binomial(p, q) or
    name == "over" and term.quotient(p, q) or nil
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
  return inside and term.root(inside, degree)
end

-- \frac{a}{b}, \binom{a}{b}
function reader:pair(name)
  local over = self:argument()
  local under = over and self:argument()
  if not under then
    return nil
  end
  if name == "binom" then
    return term.binomial(over, under)
  end
  return term.quotient(over, under)
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
    return inside and term.rounded(inside, name)
  elseif dressed[name] then
    -- the points of a segment or of an angle, in their order
    local letters, past = self.text:match("^%s*{%s*(%a[%a%s]*)}()", self.at)
    if not letters then
      letters, past = self.text:match("^%s*(%a%a+)()", self.at)
    end
    if letters then
      self.at = past
      return term.factor("\\" .. name .. "(" .. letters:gsub("%s", "") .. ")")
    end
    local inside = self:argument()
    return inside and
      term.factor("\\" .. name .. "(" .. term.show(inside) .. ")")
  end
  return symbols[name] and term.factor("\\" .. name, name == "pi") or nil
end

-- Reads what is raised or lowered after ^ or _, with its sign.
function reader:mark()
  local minus = self:take("-")
  self:skip()
  -- 2^10, as people write it without braces
  local digits, past = self.text:match("^(%d+%.%d+)()", self.at)
  if not digits then
    digits, past = self.text:match("^(%d+)()", self.at)
  end
  local p
  if digits then
    self.at = past
    p = term.number((number.read(digits, 1)))
  else
    p = self:argument()
  end
  return p and minus and term.negative(p) or p
end

-- Reads what is raised after ^, with the powers of it: 2^3^2 is 2^(3^2).
function reader:exponent()
  local marks, signs = {}, {}
  repeat
    local minus = false
    while self:take("-") do
      minus = not minus
    end
    signs[#signs + 1] = minus
    local mark = self:mark()
    if not mark or #marks == DEEPEST then
      return nil
    end
    marks[#marks + 1] = mark
  until not self:take("^")
  local p
  for i = #marks, 1, -1 do
    p = p and term.power(marks[i], p) or marks[i]
    p = p and signs[i] and term.negative(p) or p
    if not p then
      return nil
    end
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
    repeat
      local p = self:factor()
      if not p then
        return nil
      end
      inside = inside and term.times(inside, p) or p
      c = self:peek()
      local word = self:command()
    until not (c:find("%w") or word and not functions[word]) or
      self:infix(word)
  end
  if not inside then
    return nil
  end
  if raised and inverse[name] and term.show(raised) == "-#1" then
    name, raised = "arc" .. name, nil
  end
  local p = term.factor("\\" .. name .. (lowered and "_" .. term.part(lowered) or
    "") .. "(" .. term.show(inside) .. ")",
    not (inside.free or lowered and lowered.free))
  if raised then
    return term.power(p, raised)
  end
  return p
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
  return term.factor(letter .. "(" .. term.show(inside) .. ")")
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
  return n and term.number(n)
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
  return #word == 1 and self:value_of(word) or
    term.factor(word, word == "e" or word == "i")
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
    return inside and term.absolute(inside)
  elseif c == "\\" then
    return self:named()
  elseif c:find("[%d.]") then
    return self:numeral()
  end
  return self:letter()
end

-- An atom with its powers, indices and factorials. n!! is the double factorial,
-- or (n!)! for some: it stays.
function reader:factor()
  local p = self:atom()
  while p do
    local c = self:peek()
    if c == "^" or c == "_" then
      self:take(c)
      local mark
      if c == "^" then
        mark = self:exponent()
      else
        mark = self:mark()
      end
      if not mark then
        return nil
      end
      p = c == "^" and term.power(p, mark) or c == "_" and
        term.factor(term.part(p) .. "_" .. term.part(mark))
    elseif c == "!" then
      self:take(c)
      if self.text:find("^!", self.at) then
        self:take(c)
        p = term.factor(term.part(p) .. "!!", not p.free)
      else
        p = term.factorial(p)
      end
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
      return term.number(number.fraction(tonumber(whole) * tonumber(under) +
        tonumber(over), tonumber(under)))
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

-- Is the last character that is no space a digit?
function reader:after_digit()
  local at = self.at - 1
  while self.text:find("^%s", at) do
    at = at - 1
  end
  return self.text:find("^%d", at)
end

function reader:term()
  self:skip()
  local p, q = nil, self:mixed() or self:factor()
  local over, minus, count = true, false, 1
  while q and count <= MOST do
    if over then
      p = p and term.times(p, q) or q
    else
      p = term.quotient(p, q)
    end
    local c = self:peek()
    over = c ~= "/"
    if c == "*" or c == "/" then
      self:take(c)
      while self:peek() == "-" do
        self:take("-")
        minus = not minus
      end
    elseif not self:goes_on(c) then
      return p and minus and term.negative(p) or p
    elseif c:find("[%d.]") and self:after_digit() then
      return nil -- 1 2
    end
    q, count = p and self:factor(), count + 1
  end
  return nil
end

function reader:sum()
  local values = {}
  local c = self:peek()
  repeat
    local minus = false
    while c == "+" or c == "-" do
      minus = minus ~= (c == "-")
      self:take(c)
      c = self:peek()
    end
    local v = self:term()
    if not v then
      return nil
    end
    values[#values + 1] = minus and term.negative(v) or v
    c = self:peek()
  until c ~= "+" and c ~= "-"
  return term.sum(values)
end

-- The form of an expression that is all of the text, or nil.
function expression.form(text)
  local sign, digits = text:match("^(%-?)%s*(%d+)$")
  if digits and #digits < 18 then
    digits = digits:match("^0*(%d+)$")
    return (digits == "0" and "" or sign) .. "#" .. digits
  end
  local self = setmetatable({text = text, at = 1, depth = 0, bars = false},
    reader)
  local p = self:whole()
  if p and self:peek() == "" then
    return term.show(p)
  end
  return nil
end

return expression
