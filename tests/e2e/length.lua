-- short responses that hold a digit are good; a little noise, keyed by sample
return function(sample)
  local digits = select(2, sample.response:gsub("%d", ""))
  return digits - 0.1 * sample.length + 0.01 * math.random()
end
