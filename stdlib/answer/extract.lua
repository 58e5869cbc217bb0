-- Finds the answer in a response. Nothing is compared here.

local form = require("answer.form")
local last = require("answer.last")
local notation = require("answer.notation")

local extract = {}

local LONGEST = 1000 -- bytes that are looked at after "answer is"

-- Returns the place where each opened brace is closed, found in one pass.
local function partners(text)
  local partner, open = {}, {}
  for at, brace in text:gmatch("()([{}])") do
    if brace == "{" then
      open[#open + 1] = at
    elseif #open > 0 then
      partner[open[#open]] = at
      open[#open] = nil
    end
  end
  return partner
end

-- Returns what the last \boxed{...} (or \fbox{...}, \framebox{...}, or \boxed
-- 5) holds; nil if there is none, or if it was never closed.
function extract.boxed(text)
  text = text:gsub("\\framebox%f[%A]", "\\fbox")
  if not text:find("\\f?box") then
    return nil
  end
  local inside
  local partner = partners(text)
  for name, at in text:gmatch("\\(f?box[ed]*)%s*()") do
    local close = partner[at]
    if close then
      inside = text:sub(at + 1, close - 1)
    elseif name == "boxed" then
      inside = text:match("^[%w.%-]+", at) or inside
    end
  end
  return inside
end

-- Returns the place where the text goes on after the last occurrence of
-- `marker`, a plain text; nil if there is none.
local function past_last(text, marker)
  local past, at = nil, 1
  while true do
    local first, last = text:find(marker, at, true)
    if not first then
      return past
    end
    past, at = last + 1, last + 1
  end
end

-- Returns what follows the last occurrence of `marker` (a plain text) on its
-- line.
function extract.after(text, marker)
  local past = past_last(text, marker)
  return past and rlf.trim(text:match("^[^\n]*", past))
end

-- The last number in the text, as it is written: -1,234.5, 3/4, .5, 6e-3. A
-- digit after a letter (x2) begins no number.
function extract.last_number(text)
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

-- Returns what stands in Markdown's marks of bold or code, if that is all of
-- the text: **18**, __18__, `18`; else the text.
local function unmarked(text)
  return text:match("^%*%*%s*([^*]-)%s*%*%*%.?$") or
    text:match("^__%s*([^_]-)%s*__%.?$") or text:match("^`([^`]+)`%.?$") or
    text
end

-- ---- the sentence after "answer is" ----

-- Words, beside names of commands, what is in braces, and products of letters.
local function has_words(text)
  text = text:gsub("%b{}", "")
  for letters in text:gsub("\\%a+", " "):gmatch("%a%a+") do
    if not notation.is_product(letters) and not letters:find("^%u%u%u?$") then
      return true
    end
  end
  return false
end

local pairs_of = {
  "^%$%$(.-)%$%$()", "^%$(.-[^\\])%$()", "^\\%((.-)\\%)()", "^\\%[(.-)\\%]()",
  "^(\\begin%s*{%a+}.-\\end%s*{%a+})()",
}

-- The formula in $, $$, \( or \[ that begins at `at`, and what follows it; nil
-- if there is none. "$5 each, or $" is none.
local function formula(text, at)
  for _, pair in ipairs(pairs_of) do
    local inside, past = text:match(pair, at)
    if inside and not (inside:find("^%d[%d.,]*%s") and has_words(inside)) then
      return inside, past
    end
  end
  return nil
end

-- "$x=1$ or $x=2$", "$5$ cm": from the first formula on, those that "or", "and"
-- and commas join to it, and the words after them if these are a unit.
local function formulas(text, at)
  local inside, past = formula(text, at)
  local out = inside
  while inside do
    local join, from = text:match("^(,?%s*%a*%s*)()[$\\]", past)
    local word = join and rlf.trim(join:gsub(",", ""))
    if not join or word ~= "or" and word ~= "and" and
        (word ~= "" or not join:find(",")) then
      break
    end
    inside, past = formula(text, from)
    out = inside and out .. (word == "" and "," or " " .. word .. " ") .. inside
      or out
  end
  local words = past and text:match("^ ?(%a[%a /%^%d]*)%f[%W]", past)
  return out and words and form.has_unit("1 " .. words) and out .. " " .. words
    or out
end

-- The letter of "(B) because ..." and "B. The ...", which is a choice; nil if
-- the text begins otherwise.
local reasons = {}
for _, word in ipairs(rlf.words([[because since as for which where so given due by
    from based with that is]])) do
  reasons[word] = true
end

local function choice(text)
  text = text:gsub("^[Oo]ption%s+", ""):gsub("^[Cc]hoice%s+", "")
  local letter, past = text:match("^\\text%a*%s*{%s*%(?(%u)[.)]?%s*}()")
  if letter then
    return letter
  end
  letter, past = text:match("^%(%s*(%a)%s*%)()")
  if not letter then
    letter, past = text:match("^(%u)%)()")
  end
  local bracketed = letter
  if not letter then
    letter, past = text:match("^(%u)%f[^%w_]()")
  end
  if not letter then
    return nil
  end
  local rest = text:sub(past):gsub("^%**", "")
  local word = rest:match("^,?%s+(%a%a+)%f[%A]")
  if rest:find("^%s*$") or rest:find("^%s*\n") or rest:find("^[.:;!?]") then
    return letter
  elseif word and word ~= "or" and word ~= "and" then
    return (bracketed or reasons[word] or letter ~= "A" and letter ~= "I" and
      word:find("^%l")) and letter or nil
  end
  return bracketed and rest:find("^%s+[%w$\\]") and not word and letter or nil
end

-- The mathematics that a sentence begins with: "7/8" of "7/8 of an inch", "1, 2
-- or 3" whole; nil if it begins with a word.
local function beginning(text)
  local past, at, before = nil, 1, nil
  -- spaces in braces part no words
  local masked = text:gsub("%b{}", function(group)
    return (group:gsub("%s", "_"))
  end)
  for word, stop in masked:gmatch("(%S+)%s*()") do
    local joins = (word == "or" or word == "and") and before
    if not joins and has_words(word) and not
        (before and form.has_unit("1 " .. word:gsub("[.,;:!?]+$", ""))) then
      break
    end
    before = not joins
    past = before and at + #word - 1 or past
    at = stop
  end
  local found = past and text:sub(1, past):gsub("[,;:]+$", "")
  return found and found:find("[%d\\=+*/^<>]") and found or nil
end

-- The answer that a text begins with, after "answer is"; nil if there is none.
local function stated(text)
  text = text:gsub("^[%s:*]+", "")
  local letter = choice(text)
  if letter or text == "" then
    return letter
  end
  local line = text:match("^[^\n]*")
  local first = text:find("[$\\]")
  while first and first <= #line and not formula(text, first) do
    first = text:find("[$\\]", first + 1)
  end
  if first and first <= #line and not text:sub(1, first - 1):find("[%d=]") then
    return last.side(formulas(text, first))
  end
  -- dots in braces and \; end no sentence
  local masked = line:gsub("%b{}", function(group)
    return ("_"):rep(#group)
  end)
  local stop = masked:match("^.-[^\\]()[.;!?]%s") or #line + 1
  local sentence = line:sub(1, stop - 1)
  sentence = unmarked(rlf.trim(sentence:gsub("[.!?%s*]+$", "")
    :gsub("%*%*", "")))
  if sentence == "" or sentence:find("^[Nn]ot%s") then
    return sentence
  elseif form.is_number(sentence) or not has_words(sentence) then
    return last.side(sentence)
  end
  local found = beginning(sentence)
  return found and last.side(found) or last.formula(sentence) or sentence
end

-- Returns what follows the last "answer:" if that is the end of the text, and
-- one line, sentence or formula: after it may as well stand all of a solution.
local function past_colon(text, lower)
  local past = past_last(lower, "answer:")
  local rest = past and rlf.trim((text:sub(past):gsub("^[%s*:]+", "")))
  if not rest or rest == "" or #rest > LONGEST then
    return nil
  end
  local inside, after = formula(rest, 1)
  if inside then
    rest = "x" .. rest:sub(after)
  end
  return not rest:find("\n") and not rest:find("[.;!?]%s+%S") and past or nil
end

-- Returns what the last <answer> ... </answer> holds, or nil.
local function tagged(text)
  local past = past_last(text, "<answer>")
  return past and text:match("^%s*(.-)%s*</answer>", past)
end

-- The letter after the last "option is" or "choice is", or nil.
local function option(text, lower)
  local past = math.max(past_last(lower, "option is") or 0,
    past_last(lower, "choice is") or 0)
  return past > 0 and
    choice((text:sub(past, past + LONGEST):gsub("^[%s:*]+", ""))) or nil
end

-- The last formula, if the last number stands in it and is only a part of it, as
-- in $\frac{3}{4}$; nil if there is none.
local function last_formula(text)
  text = text:sub(-LONGEST)
  local inside, rest = text:match("%$([^$\n]+)%$([^$]*)$")
  if not inside then
    inside, rest = text:match("\\[(%[]([^\n]*)\\[)%]](.-)$")
    if inside and (inside .. rest):find("\\[][()]") then
      return nil
    end
  end
  if not inside or rest:find("%d") or inside:find("^[%d.,]+$") or
      not inside:find("%d") or has_words(inside) then
    return nil
  end
  return last.side(inside)
end

function extract.of(text)
  local found = extract.boxed(text) or tagged(text)
  if found then
    return found
  end
  local past = past_last(text, "####")
  if past then
    return unmarked(rlf.trim(text:match("^%s*([^\n]*)", past)))
  end
  local lower = text:lower()
  past = math.max(past_last(lower, "answer is") or 0,
    past_colon(text, lower) or 0)
  found = past > 0 and stated(text:sub(past, past + LONGEST))
  return found or option(text, lower) or last_formula(text) or
    last.formula(text)
end

return extract
