-- Returns how far a response is from the answer (9 if it is no number), and
-- whether it is odd: the pairs of data/graded.jsonl were made by this.
return function(sample)
  local y = tonumber(sample.response:match("^%d+$"))
  if not y or not sample.finished then
    return { off = 9, odd = 0 }
  end
  return { off = math.min(9, math.abs(y - tonumber(sample.answer))), odd = y % 2 }
end
