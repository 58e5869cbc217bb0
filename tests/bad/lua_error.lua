return function(sample)
  return sample.answer.x.y
end
