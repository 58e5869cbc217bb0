-- Sequences with a constant difference: "8,3:9,4" asks for the next 4 numbers
-- after 8, 3, modulo 9, separated by commas. One reward per response token:
-- 1 / (length of the truth + 1) for each character that is right, up to the
-- first that is not. (The one in the denominator is the end of the response,
-- which earns nothing.) A token is one character.

local function truth(prompt)
  local a, b, modulus, count = prompt:match("(%d+),(%d+):(%d+),(%d+)")
  a, b, modulus = tonumber(a), tonumber(b), tonumber(modulus)
  local step, numbers = (b - a) % modulus, {}
  for i = 1, tonumber(count) do
    b = (b + step) % modulus
    numbers[i] = b
  end
  return table.concat(numbers, ",")
end

return function(sample)
  local want = truth(sample.prompt)
  local rewards, right = {}, true
  for i = 1, sample.length do
    right = right and i <= #want and sample.pieces[i] == want:sub(i, i)
    rewards[i] = right and 1 / (#want + 1) or 0
  end
  return rewards
end
