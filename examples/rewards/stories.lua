-- Reads a story: is it a happy one, told in whole sentences and without saying
-- things twice? Between -1 and 1.

local happy = {}
for word in ([[happy happily smile smiled smiles laugh laughed laughing love
  loved fun played play hug hugged friend friends glad proud thank excited
  kind enjoyed]]):gmatch("%a+") do
  happy[word] = true
end

-- Different happy words; more than five count no more.
local function joy(text)
  local seen, count = {}, 0
  for word in text:lower():gmatch("%a+") do
    if happy[word] and not seen[word] then
      seen[word] = true
      count = count + 1
    end
  end
  return math.min(count, 5) / 5
end

-- The share of sentences that were there before.
local function repetition(text)
  local seen, again, all = {}, 0, 0
  for sentence in text:gmatch("[^.!?]+") do
    sentence = sentence:match("^%s*(.-)%s*$")
    if #sentence > 0 then
      all = all + 1
      if seen[sentence] then
        again = again + 1
      end
      seen[sentence] = true
    end
  end
  return all > 0 and again / all or 0
end

return function(sample)
  local text = sample.response
  return { joy = joy(text), repetition = repetition(text) }
end
