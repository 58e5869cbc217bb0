-- Checking of short mathematical answers.
--
--     local answer = require("answer")
--     return function(sample)
--       return answer.score(sample.response, sample.answer)
--     end
--
-- An answer is found in a response by answer.extract: what the last \boxed{}
-- holds, else what follows the last "####", else what follows the last "answer
-- is", else the last number. Two answers are the same if their forms
-- (answer/form.lua) are the same text.

local form = require("answer.form")

local answer = {}

-- Where each opened brace is closed, in one pass.
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

-- What the last \boxed{...} (or \fbox{...}, or \boxed 5) holds; nil if there is
-- none, or if it was never closed.
function answer.boxed(text)
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

-- The mathematics in "it is $x+1$ apples": what the first pair of dollars or of
-- \( and \) holds.
local function formula(text)
  return text:match("%$%$(.-)%$%$") or text:match("%$(.-[^\\])%$") or
    text:match("\\%((.-)\\%)") or text:match("\\%[(.-)\\%]")
end

-- Words, beside names of commands.
local function has_words(text)
  return text:gsub("\\%a+", ""):find("%a%a") ~= nil
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
  tail = tail:gsub("^[:%s]+", ""):gsub("%*%*", "")
  tail = formula(tail) or tail:match("^(.-)[.;!?]%s") or tail
  tail = rlf.trim(tail:gsub("[.!?]+%s*$", ""))
  if form.is_number(tail) or not has_words(tail) then
    return tail
  end
  return answer.last_number(tail) or tail
end

-- The form in which answers are compared.
answer.normal = form.of

-- Are two answers the same?
function answer.same(a, b)
  a, b = form.of(a), form.of(b)
  return a == b and a ~= ""
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
