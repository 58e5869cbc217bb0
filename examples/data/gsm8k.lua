-- Problems in the form of GSM8K, with solutions that end with "#### 72": all
-- combinations of the split's names, things and numbers, shuffled.
--
--     lua5.4 gsm8k.lua train > gsm8k/train.jsonl
--     lua5.4 gsm8k.lua test > gsm8k/test.jsonl

local split = arg[1] or "train"
local names = split == "train" and { "Lily", "Tom", "Sara", "Ben" } or
  { "Mia", "Max" }
local things = split == "train" and { "apples", "cards", "books" } or
  { "pens", "eggs" }

-- SplitMix64 (Steele, Lea and Flood 2014).
local state = split == "train" and 1 or 2
local function below(n)
  state = state + 0x9e3779b97f4a7c15
  local z = state
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  z = z ~ z >> 31
  return (z >> 11) % n
end

-- Each form has three numbers, in the order of the question.
local function bags(name, thing, a, b, c)
  return
    ("%s has %d %s and buys %d bags with %d %s each. How many %s does %s have now?")
      :format(name, a, thing, b, c, thing, thing, name),
    ("The bags have %d*%d=<<%d*%d=%d>>%d %s.\\n%s has %d+%d=<<%d+%d=%d>>%d %s now.\\n#### %d")
      :format(b, c, b, c, b * c, b * c, thing, name, a, b * c, a, b * c,
        a + b * c, a + b * c, thing, a + b * c)
end

local function gifts(name, thing, a, b, c)
  local all = 10 * a
  return
    ("%s has %d %s, gives away %d of them and loses %d. How many %s are left?")
      :format(name, all, thing, b, c, thing),
    ("%d+%d=<<%d+%d=%d>>%d %s are gone.\\nSo %d-%d=<<%d-%d=%d>>%d %s are left.\\n#### %d")
      :format(b, c, b, c, b + c, b + c, thing, all, b + c, all, b + c,
        all - b - c, all - b - c, thing, all - b - c)
end

local function weeks(name, thing, a, b, c)
  return
    ("Every day %s sells %d %s for $%d each. How much money is that in %d days?")
      :format(name, a, thing, b, c),
    ("A day brings %d*%d=$<<%d*%d=%d>>%d.\\n%d days bring %d*%d=$<<%d*%d=%d>>%d.\\n#### %d")
      :format(a, b, a, b, a * b, a * b, c, a * b, c, a * b, c, a * b * c,
        a * b * c, a * b * c)
end

local rows = {}
for _, form in ipairs { bags, gifts, weeks } do
  for _, name in ipairs(names) do
    for _, thing in ipairs(things) do
      for _ = 1, 8 do
        rows[#rows + 1] = { form(name, thing, 2 + below(8), 2 + below(8), 2 + below(8)) }
      end
    end
  end
end
for i = #rows, 2, -1 do
  local k = below(i) + 1
  rows[i], rows[k] = rows[k], rows[i]
end
for _, row in ipairs(rows) do
  print(('{"question": "%s", "answer": "%s"}'):format(row[1], row[2]))
end
