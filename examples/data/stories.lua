-- Beginnings of stories, every combination once, in a shuffled order:
--
--     lua5.4 stories.lua > stories.jsonl

local names = { "Lily", "Tom", "Sara", "Ben", "Mia", "Tim", "Anna", "Max",
                "Lucy", "Sam" }
local openings = {
  "Once upon a time, there was a little child named %s.",
  "One day, %s went to the park with",
  "%s had a new toy. It was",
  "One morning, %s woke up and saw",
  "Once there was a small dog. The dog and %s",
  "%s was sad because",
  "It was raining, and %s could not",
  "%s and a friend found a big box. In the box",
}

-- SplitMix64 (Steele, Lea and Flood 2014).
local state = 1
local function below(n)
  state = state + 0x9e3779b97f4a7c15
  local z = state
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  z = z ~ z >> 31
  return (z >> 11) % n
end

local rows = {}
for _, opening in ipairs(openings) do
  for _, name in ipairs(names) do
    rows[#rows + 1] = opening:format(name)
  end
end
for i = #rows, 2, -1 do
  local k = below(i) + 1
  rows[i], rows[k] = rows[k], rows[i]
end
for _, row in ipairs(rows) do
  print(('{"opening": "%s"}'):format(row))
end
