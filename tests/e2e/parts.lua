return function(sample)
  local mark = {}
  for i = 1, sample.length do mark[i] = 1 end
  return { long = sample.length, mark = mark }
end
