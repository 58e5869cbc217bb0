-- Checking of short mathematical answers.
--
--     local answer = require("answer")
--     return function(sample)
--       return answer.score(sample.response, sample.answer)
--     end
--
-- An answer is found in a response by answer.extract (answer/extract.lua): what
-- the last \boxed{} or <answer> holds, else what follows the last "####", else
-- what follows the last "answer is" or a final "answer:", else the last number
-- with its whole formula. Two answers are the same if their forms (answer/form.lua) are the
-- same text and their units (answer/unit.lua) agree. Numbers are computed
-- exactly: 2^{10} is 1024, 1/2 + 1/3 is 5/6; nothing is rounded, so 0.333 is not
-- 1/3. Any bytes may be compared; none are an error.
--
-- A percent is the number of hundredths that it is: 25% is 0.25. Like other units
-- it may be left out, 25% is 25, since references write both; 25 is not 0.25.

local extract = require("answer.extract")
local form = require("answer.form")
local unit = require("answer.unit")

local answer = {}

-- An argument of a function of this table that is no text is an error where the
-- function is called, not inside of it.
local function check(name, which, value)
  if type(value) ~= "string" then
    error("answer." .. name .. ": the " .. which .. " is " ..
      (value == nil and "nil" or "a " .. type(value)) .. ", not a text" ..
      (type(value) == "number" and
        "\nhint: tostring(x) makes a text of a number; answer.score takes one as its truth"
        or ""), 3)
  end
end

function answer.extract(text)
  check("extract", "text", text)
  return extract.of(text)
end

function answer.boxed(text)
  check("boxed", "text", text)
  return extract.boxed(text)
end

function answer.after(text, marker)
  check("after", "text", text)
  check("after", "marker", marker)
  if marker == "" then
    error("answer.after: the marker is empty", 2)
  end
  return extract.after(text, marker)
end

function answer.last_number(text)
  check("last_number", "text", text)
  return extract.last_number(text)
end

-- The form in which answers are compared; their unit, and the name whose value
-- they give, or nil.
function answer.normal(text)
  check("normal", "text", text)
  return form.of(text)
end

-- Are two answers the same? 5 is 5 cm, but 5 cm are not 5 m; 3 is x = 3, but
-- y = 3 is not x = 3.
function answer.same(a, b)
  check("same", "first answer", a)
  check("same", "second answer", b)
  local a_form, a_unit, a_name = form.of(a)
  local b_form, b_unit, b_name = form.of(b)
  if a_name and b_name and a_name ~= b_name then
    return false
  end
  if a_form == b_form then
    return a_form ~= "" and unit.agree(a_unit, b_unit)
  end
  return a_unit == "percent" and not b_unit and
    form.hundredth(a_form) == b_form or
    b_unit == "percent" and not a_unit and form.hundredth(b_form) == a_form
end

-- Is the float nearest to the number that an answer is, or to its hundredth if
-- that is a percent?
local function is_float(found, truth)
  local of, name = form.of(found)
  local hundredth = name == "percent" and form.hundredth(of)
  return form.float(of) == truth or
    hundredth and form.float(hundredth) == truth
end

-- The answer of a solution of several lines whose last one names it, as "A: 18"
-- does; nil if that is none.
local function last_line(text)
  local line = text:match("\n[ \t]*([^\n]*%S)%s*$")
  return line and line:match("^%a[%a ]*:%s*(%S.*)$")
end

-- 1 if the response's answer is the truth, else 0. The truth may be a whole
-- solution: then its own \boxed{}, "####" or last line is what counts. A truth that is a
-- float, as JSON's numbers are, is met by each number to which it is the nearest
-- float.
function answer.score(response, truth)
  if type(response) ~= "string" then
    error("answer.score: the response is " .. type(response) ..
      ", not a text", 2)
  elseif type(truth) ~= "string" and type(truth) ~= "number" then
    error("answer.score: the truth is " .. type(truth) ..
      ", not a text or a number", 2)
  end
  local found = extract.of(response)
  if not found then
    return 0
  elseif math.type(truth) == "float" then
    return is_float(found, truth) and 1 or 0
  end
  truth = tostring(truth)
  local want = extract.boxed(truth) or extract.after(truth, "####") or
    last_line(truth) or truth
  return answer.same(found, want) and 1 or 0
end

return answer
