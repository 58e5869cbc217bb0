-- The last number of a text and the formula of which it is a part, where no
-- marker says what the answer is. The line is parted into numbers, operators,
-- brackets, words and marks; from the number on, all that belongs to one formula
-- is taken on both sides. What cannot be delimited gives nothing, since a part of
-- a formula is another answer.

local form = require("answer.form")
local notation = require("answer.notation")

local last = {}

local LONGEST = 1000 -- bytes on each side of the number that are looked at

local set_of = notation.set_of

local operator_commands = set_of([[times cdot div pm mp le leq leqslant ge geq
    geqslant ne neq lt gt approx equiv in cup cap over choose to]])
local spaces = set_of("left right quad qquad displaystyle textstyle")
local stops = set_of([[Rightarrow implies therefore item end begin because iff
    rightarrow longrightarrow]])
local functions = set_of("sqrt pi sin cos tan log ln exp abs")
local operators = set_of("− – × · ⋅ ∙ ∗ ÷ ⁄ ± ∓ ≤ ≥ ≠ ≈ ∪ ∩ ∈")
local postfixes = set_of("° % ′ ¢")
local currencies = set_of("£ € ¥ ₹")
local closes = {["("] = ")", ["["] = ")", ["{"] = "}", ["\\{"] = "\\}"}
local closed_by = {[")"] = ")", ["]"] = ")", ["}"] = "}", ["\\}"] = "\\}"}
local signs = set_of("- + − – ± ∓ \\pm \\mp")
local scales = set_of("thousand million billion trillion")
local says_is = set_of([[is are equals equal gives give be was to get of than]])
local ranges = set_of("between from")
local more = set_of("hundred dozen hundreds dozens")

-- The kind of a character that is not ASCII.
local function kind_of(c)
  local code = utf8.codepoint(c)
  if operators[c] then
    return "op"
  elseif postfixes[c] then
    return "post"
  elseif currencies[c] or code >= 0x370 and code < 0x400 or code >= 0x2070 and
      code < 0x20a0 or code >= 0x2150 and code < 0x2160 or
      code >= 0x2200 and code < 0x2300 or c:find("^\xc2[\xb2\xb3\xb9\xbc-\xbe]") then
    return "thing"
  elseif code == 0xa0 or code >= 0x2000 and code < 0x200b or code == 0x202f then
    return "space"
  end
  return "stop"
end

-- The token at a place: its kind, and where it ends.
local function token(text, at)
  local c = text:sub(at, at)
  local function to(pattern)
    return text:match("^" .. pattern .. "()", at)
  end
  local past = to("%s+") or to("\\[,;:!> ]") or to("%*%*%f[^%w]") or
    at > 1 and text:find("^[^%w)]%*%*", at - 1) and at + 2
  if past then
    return "space", past
  end
  past = to("<<[^<>]*>>") or to("<|[^|>]*|>") or to("</?%a[%w_ ]*/?>") or
    to("[=-]+>") or to("\\\\") or to("\\[()%[%]]") or to("%.%.+")
  if past then
    return "stop", past
  end
  past = to("\\[{}]")
  if past then
    return text:sub(at + 1, at + 1) == "{" and "open" or "close", past
  end
  past = to("\\?%$")
  if past then
    return "space", past
  end
  past = to("\\?%%")
  if past then
    return "post", past
  end
  local name
  name, past = text:match("^\\(%a+)()", at)
  if name == "text" or name == "mathrm" or name == "textbf" or name == "mbox" then
    return "thing", text:match("^%s*%b{}()", past) or past
  elseif name and name:find("^f?box") and not text:find("^%s*%b{}", past) then
    return "stop", text:match("^%s*{?()", past)
  elseif name then
    return operator_commands[name] and "op" or spaces[name] and "space" or
      stops[name] and "stop" or "thing", past
  end
  past = to("%.?%d[%d,.]*")
  if past then
    while text:find("^[,.]", past - 1) do
      past = past - 1
    end
    return "number", to("%.?%d[%d,.]*[eE][+-]?%d+") or past
  end
  past = to("%a+")
  if past then
    local word, before = text:sub(at, past - 1), at > 1 and text:sub(at - 1, at - 1)
    local of_number = before and before:find("%d")
    if functions[word] then
      return "thing", past
    elseif of_number and (word == "st" or word == "nd" or word == "rd" or
        word == "th") then
      return "word", past
    elseif of_number and #word < 4 then
      return "thing", past
    end
    local name_past = text:match("^%-?%d[%w-]*()", past)
    if name_past and (#word > 1 or text:find("^%d", past)) then
      return "word", name_past -- x2, COVID-19
    end
    return #word == 1 and "letter" or notation.is_product(word) and
      word:find("[xz]") and "letter" or "word", past
  end
  past = to("[<>!=]=")
  if past then
    return "op", past
  elseif c:find("[+*/^_=<>-]") then
    return "op", to("%*%*") or at + 1
  elseif c:find("[({%[]") then
    return "open", at + 1
  elseif c:find("[)}%]]") then
    return "close", at + 1
  elseif c == "!" then
    return text:find("^!%s*$", at) and "stop" or text:find("^!%s+[%a$]", at) and
      "stop" or "post", at + 1
  elseif c == "|" then
    return text:find("^%s*|") and "stop" or "bar", at + 1
  elseif c == ":" then
    return (text:find("^:%d", at) or text:find("^ : ", at - 1)) and "op" or
      "stop", at + 1
  end
  past = to("[\xc2-\xf4][\x80-\xbf]*")
  if past and utf8.len(text, at, past - 1) then
    return kind_of(text:sub(at, past - 1)), past
  end
  return "stop", at + 1
end

-- The tokens of a line, spaces left out, with their partners if they are
-- brackets; `wordy` are brackets that hold words.
local function tokens_of(text)
  local list, open, at, space = {}, {}, 1, false
  while at <= #text do
    local kind, past = token(text, at)
    if kind == "space" then
      space = true
    else
      list[#list + 1] = {kind = kind, from = at, to = past - 1, space = space,
        text = text:sub(at, past - 1)}
      space = false
    end
    at = past
  end
  for i, t in ipairs(list) do
    if t.kind == "open" then
      open[#open + 1] = i
    elseif t.kind == "close" then
      while #open > 0 and closes[list[open[#open]].text] ~= closed_by[t.text] and
          t.text:find("}") do
        open[#open] = nil
      end
      local first = open[#open]
      if first and closes[list[first].text] == closed_by[t.text] then
        list[first].partner, t.partner = i, first
        local wordy = list[first].wordy
        open[#open] = nil
        if wordy and #open > 0 then
          list[open[#open]].wordy = true
        end
        t.wordy = wordy
      end
    elseif #open > 0 and (t.kind == "word" or t.kind == "stop" and
        not t.text:find("^[,;|]")) then
      list[open[#open]].wordy = true
    end
  end
  return list
end

local function is_operand(t)
  return t.kind == "number" or t.kind == "thing" or t.kind == "letter" or
    t.kind == "bar" or t.partner and not t.wordy
end

-- Do two neighbours without an operator between them belong together?
local function joins(a, b)
  if a.kind == "post" or not is_operand(a) then
    return false
  elseif b.kind == "post" then
    return true
  elseif not is_operand(b) then
    return false
  elseif b.space and (b.kind == "number" and (a.kind == "letter" or
      a.kind == "close") or a.kind == "letter" and b.kind ~= "thing" or
      a.text == "a" or a.text == "A" or a.text == "I" or
      b.kind == "letter" and b.text:find("^[aI%u]")) then
    return false
  end
  return true
end

-- The first token of the formula that has the one at `i`; nil if it cannot be
-- told.
local function leftmost(list, i)
  while i > 1 do
    local p, c = list[i - 1], list[i]
    if p.kind == "close" and (not p.partner or p.wordy) then
      return p.text:find("}") == nil and i or nil
    elseif p.kind == "open" then
      return p.text:find("{") == nil and i or nil
    elseif c.kind ~= "op" and p.kind == "op" then
      local q = list[i - 2]
      if q and (is_operand(q) or q.kind == "post") and not
          (signs[p.text] and p.space and not c.space) then
        i = i - 1
      elseif q and q.kind == "op" then
        i = i - 1
      elseif signs[p.text] then
        if not c.space then
          return i - 1
        elseif p.text == "+" then
          return i
        elseif not q then
          return list[i + 1] and list[i + 1].kind == "word" and i or i - 1, true
        end
        return says_is[q.text] and i - 1 or nil
      elseif p.text:find("^[=*_≈]") or p.text == "\\approx" or
          p.text == ">" and not q then
        return i
      else
        return nil
      end
    elseif c.kind == "op" and (is_operand(p) or p.kind == "post") or
        c.kind == "op" and p.kind == "op" or c.kind ~= "op" and joins(p, c) then
      i = p.partner or i - 1
    else
      return i
    end
  end
  return i
end

-- The last one.
local function rightmost(list, i)
  while i < #list do
    local c, n = list[i], list[i + 1]
    local after = list[i + 2]
    if n.kind == "close" then
      return n.text:find("}") == nil and i or nil
    elseif n.kind == "open" and not n.partner then
      return nil
    elseif n.kind == "op" then
      while after and after.kind == "op" and after.text ~= n.text do
        i, n = i + 1, after
        after = list[i + 2]
      end
      if after and (is_operand(after) or after.kind == "open" and
          after.partner and not after.wordy) and not (c.kind ~= "op" and
          after.kind == "letter" and after.text == "a" and after.space) then
        i = after.partner or i + 2
      elseif not after and not n.text:find("^[*_]") or n.text:find("^%^") then
        return nil -- cut off
      else
        return i
      end
    elseif n.kind == "post" or joins(c, n) then
      i = n.partner or i + 1
    else
      return i
    end
  end
  return i
end

-- Returns what follows a formula and is its unit or scale; nil if it changes
-- what the number is in a way that is not read.
local function unit_after(list, i, text)
  local from = list[i].to + 1
  local scale, past = text:match("^%s*(%a+)()", from)
  if scale and more[scale] or text:find("^%s+and%s+a%s+half", from) then
    return nil
  end
  local found = ""
  if scale and scales[scale] then
    found, from = " " .. scale, past
  end
  local words = text:match("^%$?[ ]?(%a[%a /^%d]*)%f[^%w]", from) or ""
  words = words:sub(1, 60)
  for _ = 1, 4 do
    words = rlf.trim(words)
    local follows = text:find("^%s+%a", from + #words + 1)
    if words == "" then
      break
    elseif form.has_unit("1 " .. words) and not (words == "in" and follows) then
      return found .. " " .. words
    end
    words = words:match("^(.*)%s%S*$") or ""
  end
  return found
end

-- "3 * 4 = 12" is 12: the number that an equation of numbers ends in.
function last.side(text)
  local before, after = text:match("^(.*)=%s*(.-)%s*$")
  if not before or not form.is_number(after) then
    return text
  end
  before = before:gsub("(%d%s*)[xX](%s*%d)", "%1*%2")
  if form.has_unit(after) then
    before = before:gsub("(%d%s*)%a+", "%1")
  end
  return before:gsub("\\%a+", ""):gsub("^%s*%a%s*=", ""):find("%a") and text or
    after
end

-- Returns the place of the last digit of a text, or nil.
local function last_digit(text)
  for at = #text, 1, -1 do
    local c = text:byte(at)
    if c >= 48 and c <= 57 then
      return at
    end
  end
  return nil
end

-- The formula of the number that is the token at `i` of a line, which begins at
-- `first` of the text; nil if it is not clear where it begins and ends.
local function around(list, i, line, whole, text, first)
  if text:find("\\end%s*{%a*matrix", first) or
      text:find("\\end%s*{array", first) then
    return nil
  end
  -- out of its brackets, if these hold no words
  local open = i
  for k = i - 1, 1, -1 do
    local t = list[k]
    if t.kind == "open" and t.partner and t.partner > i and not t.wordy then
      open = k
    elseif t.kind == "open" and (t.text == "{" and (not t.partner or
        t.partner > i)) then
      return nil
    elseif t.kind == "open" and t.partner and t.partner > i then
      break
    end
  end
  local from, bare = leftmost(list, open)
  local to = from and rightmost(list, list[open].partner or open)
  if not to or from == 1 and not whole then
    return nil
  elseif bare and from < open and text:find("\n[-*+] ") then
    return nil -- of a list, or a minus
  elseif from > 1 and ranges[list[from - 1].text] and to > from then
    return nil
  end
  local _, bars = line:sub(list[from].from, list[to].to):gsub("|", "")
  local unit = unit_after(list, to, line)
  if bars % 2 == 1 or not unit then
    return nil
  end
  local found = line:sub(list[from].from, list[to].to):gsub("%*%*(%f[^%w])", "%1")
  return last.side(rlf.trim((found:gsub("\\?%$", ""))) .. unit)
end

-- The last number with its formula; nil if there is none, or if it is not clear
-- where that begins and ends.
function last.formula(text)
  local stop = #text
  for _ = 1, 20 do -- lines, from the last on
    local at = last_digit(text:sub(1, stop))
    if not at then
      return nil
    end
    local first = at
    while first > 1 and at - first < LONGEST and text:byte(first - 1) ~= 10 do
      first = first - 1
    end
    local whole = first == 1 or text:byte(first - 1) == 10
    local line = text:sub(first):match("^[^\n]*"):sub(1, 2 * LONGEST)
    local list = tokens_of(line)
    for i = #list, 1, -1 do
      if list[i].kind == "number" then
        return around(list, i, line, whole, text, first)
      end
    end
    stop = first - 1
  end
  return nil
end

return last
