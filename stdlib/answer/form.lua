-- The form in which short mathematical answers are compared: two answers are
-- the same if their forms are the same text, and their units agree.
--
-- An answer is LaTeX or plain text. What is only notation goes: spacing, \left,
-- $, braces, the order of a sum's terms, of a product's factors and of a set's
-- members. Numbers are computed, exactly: 0.5, 1/2, 2/4 and 1-1/2 are one; 1{,}000,
-- 1e3 and 10^3 are 1000, \sqrt{12} is 2\sqrt{3}, 3! is 6; what passes the integers
-- stays as it is written. Letters are not: (x+1)^2 is not x^2+2x+1 (answer/
-- term.lua). An equation of numbers that is true is its number, x = 2+3 = 5 is 5,
-- and what stands before an "approximately" is the answer. Dates are no
-- quotients. What cannot be read as mathematics is compared as text.

local expression = require("answer.expression")
local notation = require("answer.notation")
local number = require("answer.number")
local unit = require("answer.unit")

local form = {}

local LONGEST = 4000 -- bytes of an answer that is read; longer ones are text
local DEEPEST = 40 -- brackets within brackets

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

-- Returns what is to the left of an equation and names its value: x, \theta,
-- a_{10}, f(x) and P(A), \vec{v}, \angle ABC and its measure.
local names = {
  "^%s*(%a)%s*=%s*(.*)$", "^%s*(\\%a+)%s*=%s*(.*)$",
  "^%s*(%a%s*_%s*%w)%s*=%s*(.*)$", "^%s*(%a%s*_%s*{%s*%w+%s*})%s*=%s*(.*)$",
  "^%s*([fghpq]%s*%(%s*%w+%s*%))%s*=%s*(.*)$",
  "^%s*(p%s*%(%s*%a[%a%s|\\]*%))%s*=%s*(.*)$",
  "^%s*(\\vec%s*{%s*%a+%s*})%s*=%s*(.*)$",
  "^%s*m?%s*(\\angle%s*{?%s*%a[%a%s]*}?)%s*=%s*(.*)$",
}

-- (x, y) = (1, 2): the tuple, if the names are in the order of the alphabet.
local function tuple(text)
  local list, value = text:match("^%s*%(([%a%s,]*)%)%s*=%s*(%(.*)$")
  local last = ""
  for _, name in ipairs(list and split(list, ",") or {}) do
    name = rlf.trim(name)
    if #name ~= 1 or name <= last then
      return nil
    end
    last = name
  end
  return last ~= "" and value or nil
end

-- x = 5, y = 2x, 5 = x: the name, and what it is; nil if there is none.
local function named(text)
  for _, pattern in ipairs(text:find("=", 1, true) and names or {}) do
    local name, value = text:match(pattern)
    if name and value ~= "" then
      return name, value
    end
  end
  local value, name = text:match("^%s*([^=<>]*[^=<>%s])%s*=%s*(%a)%s*$")
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

-- Equations in an environment of displayed formulas, as a list.
local function displayed(text)
  local kind, body, last =
    text:match("^\\begin%s*{(%a+)%*?}(.*)\\end%s*{(%a+)%*?}$")
  if kind ~= last or not kind or not notation.is_display(kind) or
      kind == "cases" and body:find("&") then
    return nil
  end
  return (body:gsub("&", " "):gsub(notation.row .. "%s*$", "")
    :gsub("[,;]?%s*" .. notation.row, ","))
end

-- A matrix, in its own brackets or in those around an array; its rows, and what
-- encloses it if that means something.
local function matrix(text, depth)
  local open, kind, body, close =
    text:match("^([%(%[|]?)%s*\\begin%s*{(%a+)}(.*)\\end%s*{%a+}%s*([%)%]|]?)$")
  if not kind or (open == "") ~= (close == "") or body:find("\\begin") then
    return nil
  end
  if kind == "array" then
    body = body:gsub("^%s*%b{}", "")
  end
  local rows = {}
  for _, row in ipairs(rlf.split(body, notation.row)) do
    if row:find("%S") then
      rows[#rows + 1] = table.concat(each(rlf.split(row, "&"), depth), "&")
    end
  end
  return ((kind == "vmatrix" or open == "|") and "det[" or "matrix[") ..
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
  "\\ne%f[%A]", "\\equiv%f[%A]", "\\in%f[%A]", "\\to%f[%A]", ":"}

-- "a : b" as its two sides; the sides of an equation may change places. 2+3 = 5
-- is 5, and so is x = 2+3 = 5.
local function relation(text, depth)
  for _, pattern in ipairs(relations) do
    local first, last = text:find(pattern)
    if first then
      local sides = each({text:sub(1, first - 1), text:sub(last + 1)}, depth)
      local sign = rlf.trim(text:sub(first, last))
      if sign == "=" and number.of(sides[2]) and
          (sides[1] == sides[2] or named(text)) then
        return sides[2]
      elseif sign == "=" or sign == "\\ne" then
        table.sort(sides)
      end
      return "rel[" .. table.concat(sides, sign) .. "]"
    end
  end
  return nil
end

-- A text that is not mathematics, without an article.
local function plain(text)
  text = text:gsub("^%s*the%s+%f[%a]", ""):gsub("^%s*an?%s+(%a%a%a)", "%1")
  text = text:gsub("%s+", ""):gsub("%.+$", "")
  return text ~= "" and '"' .. text or ""
end

-- Returns what is written before \approx, or after it, if that is a name or
-- nothing.
local function exact(text)
  local before, after = text:match("^(.-)\\approx%f[%A](.*)$")
  if not before then
    return text
  end
  return before:find("^%s*\\?%a*%s*$") and after or before
end

-- 2024-01-15, 1/15/2024: a date, which is not computed; nil if it is none.
local function date(text)
  if text:find("^%d%d%d%d%-%d%d?%-%d%d?$") or
      text:find("^%d%d?([/-])%d%d?%1%d%d%d%d$") then
    return '"' .. text:gsub("%f[%d]0+(%d)", "%1")
  end
  return nil
end

-- The form of one answer, cleaned already.
function read(text, depth)
  text = rlf.trim(text)
  text = displayed(text) or text
  if depth > DEEPEST then
    return plain(text)
  end
  -- x = 5, x \in {1, 2}
  local _, value = named(text)
  value = value or tuple(text)
  text = value and not value:find("=") and value or text
  text = rlf.trim(exact(text:gsub("^%a%s*\\in%f[%A]%s*", "")))
  if text == "" then
    return ""
  elseif notation.is_words(text) then
    return plain(text)
  elseif text == "\\emptyset" or text:find("^\\?{%s*\\?}$") then
    return "{}"
  end
  for _, name in ipairs({"cup", "cap"}) do
    local sides = rlf.split((text:gsub("\\" .. name .. "%f[%A]", "\3")), "\3")
    if #sides > 1 then
      return name .. "[" .. table.concat(set(sides, depth), ";") .. "]"
    end
  end
  local open, inside, close = bracket(text)
  local list = split(inside or text, ",;")
  local member, condition = (inside or ""):match("^%s*(%a)%s*[|:]%s*(.*)$")
  if open == "{" and member then -- {x : x > 0}
    return "{" .. member .. ":" .. read(condition, depth + 1) .. "}"
  elseif open == "{" and (#list > 1 or text:sub(1, 1) == "\\") then
    return "{" .. table.concat(set(list, depth), ";") .. "}"
  elseif open and #list > 1 then
    return open .. table.concat(each(list, depth), ";") .. close
  elseif open == "(" and inside:find("^%s*%a%s*$") then
    return rlf.trim(inside) -- (A)
  elseif #list > 1 then
    return "{" .. table.concat(set(list, depth), ";") .. "}"
  end
  return date(text) or matrix(text, depth) or order(text, depth) or
    relation(text, depth) or expression.form(text) or plain(text)
end

-- 1,234,567 or 1,234.5 or 1 234 567: digits by threes; else the text.
local function without_threes(text)
  for _, gap in ipairs({",", " "}) do
    local sign, whole, part =
      text:match("^%s*([+-]?)(%d%d?%d?" .. gap .. "%d%d%d[%d" .. gap ..
        "]*)(%.?%d*)%s*$")
    if whole and (gap .. whole:match(gap .. ".*")):gsub(gap .. "%d%d%d", "") ==
        gap then
      return sign .. whole:gsub(gap, "") .. part
    end
  end
  return text
end

-- a \pm b is a+b and a-b.
local function both_signs(text)
  if not text:find("\\[pm][mp]%f[%A]") then
    return text
  end
  return text:gsub("\\pm%f[%A]", "+"):gsub("\\mp%f[%A]", "-") ..
    notation.apart .. text:gsub("\\pm%f[%A]", "-"):gsub("\\mp%f[%A]", "+")
end

-- One of several answers, or a list of them, without units, which are added to
-- `found`.
local function without_units(text, found)
  local list = split(rlf.trim(text:gsub("[,;]%s*$", "")), ",")
  for i, one in ipairs(list) do
    local before, name = unit.cut(one)
    list[i] = before or one
    found[#found + 1] = name
  end
  return without_threes(table.concat(list, ","))
end

-- The form of its hundredth; nil if it is no number.
function form.hundredth(of)
  local n = number.of(of)
  n = n and number.times(n, number.fraction(1, 100))
  return n and number.show(n)
end

-- The letter of a choice that is given with its text, as "\textbf{(C)} 12" and
-- "C. 12"; nil if there is none, or several. "J. Smith" is a name.
local function choice(text)
  local letter = text:match("^%s*\\text%a*%s*{(%s*%(%a%)%s*)}")
  if letter then
    return letter
  end
  text = text:gsub("^%s*\\text%a*%s*{", "")
  local sign, rest
  letter, sign, rest = text:match("^%s*%(?([A-J])([.:)])[.:]?(%s.*)$")
  if not letter or rest:find("%f[%w][A-J][.:)]") or not rest:find("%w") or
      sign == "." and rest:find("^%s*%u") then
    return nil
  end
  return letter
end

-- 3/5 = 60%: what is 60%, of the form that knows no percents.
local function percent(of, name)
  local a, b = of:match("^rel%[(%-?#[^=]*)=(%-?#[^=]*)%]$")
  if name ~= "percent" or not a then
    return of
  end
  return form.hundredth(a) == b and a or form.hundredth(b) == a and b or of
end

-- Whose value a list of answers gives, as it is compared: x of "x=2 or x=-2",
-- (x,y) of "(x, y) = (1, 2)"; nil if that is not said, or if there are several.
local function name_of(list)
  local found
  for _, text in ipairs(list) do
    local whole = tuple(text) and text:match("^[^=]*") or
      text:match("^%s*(%a)%s*\\in%f[%A]")
    for _, part in ipairs(whole and {} or split(text, ",;")) do
      local name, value = named(part)
      name = name and not value:find("=") and name:gsub("[%s{}]", "") or nil
      if name and found and name ~= found then
        return nil
      end
      found = name or found
    end
    found = whole and whole:gsub("%s", "") or found
  end
  return found
end

-- The form of an answer; its unit, or nil; and the name whose value it is, or
-- nil.
function form.of(text)
  if #text > LONGEST then
    return plain(text)
  end
  text = choice(text) or text
  local points
  text = text:gsub("^%s*(%u%u)%s*=%s*%f[%d\\-]", function(segment) -- AB = 5
    points = segment:lower()
    return ""
  end)
  local found = {}
  text = notation.texts(notation.clean(text), found)
  if #text > LONGEST then -- ½ is longer now
    return plain(text)
  end
  text = text:gsub("%f[%a]or%f[%A]", notation.apart)
    :gsub("%f[%a]and%f[%A]", notation.apart)
  text = rlf.trim(text:gsub("%.+%s*$", ""))
  text = text:gsub("^=%s*", ""):gsub("^%a?%s*\\approx%f[%A]%s*", "")
  local list = {}
  for _, part in ipairs(rlf.split(text, notation.apart)) do
    for _, one in ipairs(rlf.split(both_signs(part), notation.apart)) do
      if one:find("%S") then
        list[#list + 1] = without_units(one, found)
      end
    end
  end
  local name = not found.unknown and unit.join(found) or nil
  if #list == 1 then
    return percent(read(list[1], 0), name), name, points or name_of(list)
  end
  -- "1, 2 or 3" is a list of three
  local all = {}
  for _, part in ipairs(list) do
    for _, one in ipairs(split(part, ",")) do
      all[#all + 1] = one
    end
  end
  local of
  all = set(all, 0) -- "1/2 or 0.5" is one
  of = #all < 2 and (all[1] or "") or "{" .. table.concat(all, ";") .. "}"
  return of, name, name_of(list)
end

-- The float nearest to the number that a form is; nil if it is none.
function form.float(of)
  local n = number.of(of)
  return n and number.float(n)
end

-- Is it a number with a unit?
function form.has_unit(text)
  local before, name = unit.cut(text)
  return before ~= nil and name ~= ""
end

-- Is it a number, when it is read?
function form.is_number(text)
  return form.float((form.of(text))) ~= nil
end

return form
