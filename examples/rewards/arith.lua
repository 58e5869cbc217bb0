-- 1 if the response is the answer and nothing else, and was ended; else 0.
return function(sample)
  return sample.finished and sample.response == sample.answer and 1 or 0
end
