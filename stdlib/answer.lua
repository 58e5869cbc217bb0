-- Checking of short mathematical answers.
--
--     local answer = require("answer")
--     return function(sample)
--       return answer.score(sample.response, sample.answer)
--     end
--
-- An answer is found in a response by answer.extract (answer/extract.lua): what
-- the last \boxed{} holds, else what follows the last "####", else what follows
-- the last "answer is", else the last number. Two answers are the same if their
-- forms (answer/form.lua) are the same text and their units (answer/unit.lua)
-- agree. Any bytes may be compared; none are an error.

local extract = require("answer.extract")
local form = require("answer.form")
local unit = require("answer.unit")

local answer = {}

answer.extract = extract.of
answer.boxed = extract.boxed
answer.after = extract.after
answer.last_number = extract.last_number

-- The form in which answers are compared, and their unit, or nil.
answer.normal = form.of

-- Are two answers the same? 5 is 5 cm, but 5 cm are not 5 m.
function answer.same(a, b)
  local a_form, a_unit = form.of(a)
  local b_form, b_unit = form.of(b)
  return a_form == b_form and a_form ~= "" and unit.agree(a_unit, b_unit)
end

-- 1 if the response's answer is the truth, else 0. The truth may be a whole
-- solution: then its own \boxed{} or "####" is what counts. A truth that is a
-- float, as JSON's numbers are, is met by each number to which it is the nearest
-- float.
function answer.score(response, truth)
  local found = extract.of(response)
  if not found then
    return 0
  elseif math.type(truth) == "float" then
    return form.float((form.of(found))) == truth and 1 or 0
  end
  truth = tostring(truth)
  local want = extract.boxed(truth) or extract.after(truth, "####") or truth
  return answer.same(found, want) and 1 or 0
end

return answer
