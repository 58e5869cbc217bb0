return function(sample)
  total = (total or 0) + 1
  return total
end
