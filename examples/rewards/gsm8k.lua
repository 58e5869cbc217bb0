-- A response to a question of GSM8K, whose solution ends with "#### 72": is its
-- answer right, wherever it stands, and is it in a box? One that was cut off is
-- neither.
local answer = require("answer")

return function(sample)
  local complete = sample.finished
  return {
    right = complete and answer.score(sample.response, sample.answer) or 0,
    boxed = complete and answer.boxed(sample.response) and 1 or 0,
  }
end
