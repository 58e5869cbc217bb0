return function(sample)
  return "good"
end
