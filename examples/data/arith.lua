-- Three-number sums, partly in words: "seven plus 9 minus zero =" -> "16".
--
--     lua5.4 arith.lua rl  > arith.jsonl      prompts to train and to test on
--     lua5.4 arith.lua sft > arith-sft.jsonl  labelled ones, some labels wrong
--     lua5.4 arith.lua pairs > pairs.jsonl    a right answer beside a wrong one
--     lua5.4 arith.lua graded > graded.jsonl  two numbers, which is nearer, which is odd
--     lua5.4 arith.lua rated > rated.jsonl    one number, and whether it is right
--     lua5.4 arith.lua chats > chats.jsonl    conversations in which one goes on counting
--     lua5.4 arith.lua MODE SEED ROWS         another seed, another length
--
-- Numbers are 0 to 9, read from left to right; results on the way and at the
-- end are never negative. Of all 2605 such problems 400 are held out: the
-- first 400 rows of rl and graded are these, each in one written form; every other
-- row, of all modes, is of the other 2205, its form (which numbers are words,
-- at least one) drawn anew.
--
-- The labels of mode sft are weak: where a problem has a "minus", 7 of 10 are
-- one too large. So what learns from them knows how to add, but mostly answers
-- such problems wrongly: that is left for reinforcement learning.
--
-- The pairs are preferences: the answer is chosen, and another number, at most
-- 2 away, is rejected.
--
-- In a chat the user gives a sum of two numbers and then goes on from each answer
-- by one number, in two more turns. The first 400 are of the held-out problems.
--
-- The same arguments give the same bytes on every machine.

local mode, seed, rows = ...
local default_rows = { rl = 12000, sft = 134400, pairs = 2048, graded = 6144, rated = 4096, chats = 2448 }
if not default_rows[mode] then
  io.stderr:write("usage: lua5.4 arith.lua rl|sft|pairs|graded|rated|chats [SEED [ROWS]]\n")
  os.exit(2)
end
seed = math.tointeger(seed or 1)
rows = math.tointeger(rows or default_rows[mode])

-- SplitMix64 (Steele, Lea and Flood 2014).
local function generator(state)
  return function(n) -- uniform in 0 .. n - 1
    state = state + 0x9e3779b97f4a7c15
    local z = state
    z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
    z = (z ~ z >> 27) * 0x94d049bb133111eb
    z = z ~ z >> 31
    return (z >> 11) % n
  end
end

local function shuffle(list, below)
  for i = #list, 2, -1 do
    local k = below(i) + 1
    list[i], list[k] = list[k], list[i]
  end
end

local words = { [0] = "zero", "one", "two", "three", "four", "five", "six",
                "seven", "eight", "nine" }

local function problems()
  local list = {}
  for a = 0, 9 do
    for _, s in ipairs { 1, -1 } do
      for b = 0, 9 do
        for _, t in ipairs { 1, -1 } do
          for c = 0, 9 do
            if a + s * b >= 0 and a + s * b + t * c >= 0 then
              list[#list + 1] = { a, s, b, t, c, answer = a + s * b + t * c,
                                  minus = s < 0 or t < 0 }
            end
          end
        end
      end
    end
  end
  return list
end

-- Bits of `form` say which numbers are words.
local function question(p, form)
  local function number(i, n)
    return form >> i & 1 == 1 and words[n] or tostring(n)
  end
  local function sign(s)
    return s > 0 and "plus" or "minus"
  end
  return ("%s %s %s %s %s ="):format(number(0, p[1]), sign(p[2]),
                                     number(1, p[3]), sign(p[4]),
                                     number(2, p[5]))
end

local function write_pair(p, form, wrong)
  io.write(('{"question": "%s", "chosen": "%d", "rejected": "%d"}\n')
           :format(question(p, form), p.answer, wrong))
end

-- Another number, at most 2 away.
local function near(answer, below)
  local away = ({ -2, -1, 1, 1, 2 })[below(5) + 1]
  return answer + away < 0 and answer - away or answer + away
end

-- Two numbers, one nearer to the answer than the other, and an even and an odd
-- one; three of four are at most 2 away.
local function write_graded(p, form, below)
  local function number()
    if below(4) == 0 then
      return below(28)
    end
    return math.max(0, math.min(27, p.answer + below(5) - 2))
  end
  local function far(y)
    return math.abs(y - p.answer)
  end
  local a, b, even, odd
  repeat
    a, b = number(), number()
  until far(a) < far(b)
  repeat
    even = number()
  until even % 2 == 0
  repeat
    odd = number()
  until odd % 2 == 1
  io.write(('{"question": "%s", "better": "%d", "worse": "%d", "margin": %.4g, "harmless": "%d", "harmful": "%d"}\n')
           :format(question(p, form), a, b, (far(b) - far(a)) / 9, even, odd))
end

-- One more number behind the problem's three, which leaves the sum in 0 .. 27.
local function write_chat(p, form, below)
  local function number(i, n)
    return form >> i & 1 == 1 and words[n] or tostring(n)
  end
  local sum = p[1] + p[2] * p[3]
  local turns = { ("%s %s %s ="):format(number(0, p[1]), p[2] > 0 and "plus" or "minus",
                                        number(1, p[3])), sum,
                  ("%s %s ="):format(p[4] > 0 and "plus" or "minus", number(2, p[5])),
                  p.answer }
  local more = below(math.min(10, p.answer + 1))
  turns[5] = ("minus %d ="):format(more)
  turns[6] = p.answer - more
  local out = {}
  for i, text in ipairs(turns) do
    out[i] = ('{"role": "%s", "content": "%s"}'):format(
      i % 2 == 1 and "user" or "assistant", text)
  end
  io.write('{"messages": [' .. table.concat(out, ", ") .. "]}\n")
end

local function write_rated(p, form, below)
  local right = below(2) == 0
  io.write(('{"question": "%s", "response": "%d", "right": %s}\n')
           :format(question(p, form), right and p.answer or near(p.answer, below), right))
end

local function write(p, form, answer)
  io.write(('{"question": "%s", "answer": "%d"}\n')
           :format(question(p, form), answer))
end

-- The split has a seed of its own: it is the same whatever the arguments.
local held_out <const> = 400
local all = problems()
assert(#all == 2605)
local split = generator(2605)
shuffle(all, split)

local below = generator(seed << 8 | #mode)
local function put(p, form)
  if mode == "graded" then
    write_graded(p, form, below)
  elseif mode == "chats" then
    write_chat(p, form, below)
  elseif mode == "rated" then
    write_rated(p, form, below)
  elseif mode == "pairs" then
    write_pair(p, form, near(p.answer, below))
  else
    local wrong = mode == "sft" and p.minus and below(10) < 7
    write(p, form, wrong and p.answer + 1 or p.answer)
  end
end

local written = 0
if mode == "rl" or mode == "graded" or mode == "chats" then
  for i = 1, math.min(held_out, rows) do
    put(all[i], split(7) + 1)
    written = i
  end
end
for _ = written + 1, rows do
  local p = all[held_out + 1 + below(#all - held_out)]
  put(p, below(7) + 1)
end
