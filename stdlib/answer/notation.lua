-- Notation of answers that says nothing, taken away: spacing, dollars, \left,
-- and the many ways to write one sign. What is left is ASCII as far as there is
-- a name for it: x² is x^{2}, π is \pi, ≤ is \le. Units are taken out of the text
-- and given beside it. Characters are replaced by whole characters, never by
-- classes, which are of bytes.

local unit = require("answer.unit")

local notation = {}

-- The words of a text, as a set.
function notation.set_of(text)
  local list = {}
  for _, word in ipairs(rlf.words(text)) do
    list[word] = true
  end
  return list
end

-- Characters that stand for themselves in a cleaned text.
notation.row = "\1" -- the end of a matrix's row
notation.apart = "\2" -- between the answers of "2 or 3"

local CHARACTER = "[\xc2-\xf4][\x80-\xbf]*" -- one that is not ASCII

-- Before compatibility forms make "x2" of a square and "51/2" of five and a
-- half. \5name\6 is a unit, \7 and \8 hold what is raised, \14 and \15 what is
-- lowered.
local before_fold = {
  ["¼"] = " \\frac{1}{4}", ["½"] = " \\frac{1}{2}", ["¾"] = " \\frac{3}{4}",
  ["⅐"] = " \\frac{1}{7}", ["⅑"] = " \\frac{1}{9}", ["⅒"] = " \\frac{1}{10}",
  ["⅓"] = " \\frac{1}{3}", ["⅔"] = " \\frac{2}{3}", ["⅕"] = " \\frac{1}{5}",
  ["⅖"] = " \\frac{2}{5}", ["⅗"] = " \\frac{3}{5}", ["⅘"] = " \\frac{4}{5}",
  ["⅙"] = " \\frac{1}{6}", ["⅚"] = " \\frac{5}{6}", ["⅛"] = " \\frac{1}{8}",
  ["⅜"] = " \\frac{3}{8}", ["⅝"] = " \\frac{5}{8}", ["⅞"] = " \\frac{7}{8}",
  ["ⁿ"] = "\7n\8", ["ⁱ"] = "\7i\8", ["⁺"] = "\7+\8", ["⁻"] = "\7-\8",
  ["₊"] = "\14+\15", ["₋"] = "\14-\15", ["√"] = "\\sqrt ", ["∛"] = "\\sqrt[3]",
  ["ℝ"] = "\\mathbb{R}", ["\u{85}"] = " ", ["\u{2028}"] = " ",
  ["\u{2029}"] = " ", ["…"] = "\\dots ",
}
for digit = 0, 9 do
  local raised = ({[1] = "¹", [2] = "²", [3] = "³"})[digit]
  before_fold[raised or utf8.char(0x2070 + digit)] = "\7" .. digit .. "\8"
  before_fold[utf8.char(0x2080 + digit)] = "\14" .. digit .. "\15"
end

local after_fold = {
  ["⁄"] = "/", ["−"] = "-", ["–"] = "-", ["—"] = "-", ["‐"] = "-",
  ["×"] = "*", ["·"] = "*", ["⋅"] = "*", ["∙"] = "*", ["∗"] = "*", ["÷"] = "/",
  ["∞"] = "\\infty ", ["±"] = "\\pm ", ["∓"] = "\\mp ", ["∪"] = "\\cup ",
  ["∩"] = "\\cap ", ["≤"] = "\\le ", ["≥"] = "\\ge ", ["⩽"] = "\\le ",
  ["⩾"] = "\\ge ", ["≠"] = "\\ne ", ["≈"] = "\\approx ", ["∅"] = "\\emptyset ",
  ["∈"] = "\\in ", ["∠"] = "\\angle ", ["△"] = "\\triangle ", ["→"] = "\\to ",
  ["≡"] = "\\equiv ", ["°"] = "\5degree\6", ["¢"] = "\5cent\6",
  ["€"] = "\5euro\6", ["£"] = "\5pound\6", ["¥"] = "\5yen\6", ["₹"] = "\5rupee\6",
  ["′"] = "'", ["’"] = "'", ["。"] = ".", ["、"] = ",", ["∣"] = "|",
  ["⟨"] = "\\langle ", ["⟩"] = "\\rangle ", ["⌊"] = "\\lfloor ",
  ["⌋"] = "\\rfloor ", ["⌈"] = "\\lceil ", ["⌉"] = "\\rceil ",
}
for i, name in ipairs(rlf.words([[alpha beta gamma delta epsilon zeta eta theta
    iota kappa lambda mu nu xi omicron pi rho final sigma tau upsilon phi chi
    psi omega]])) do
  after_fold[utf8.char(0x3b0 + i)] = "\\" .. name .. " "
end

-- One name of commands that mean one thing; those of spacing mean nothing.
local commands = {}
for name, words in pairs({
  [""] = [[left right displaystyle textstyle quad qquad limits big bigg bigl
    bigr bigm biggl biggr middle mathstrut]],
  ["\\frac"] = "dfrac tfrac cfrac", ["\\binom"] = "dbinom tbinom",
  ["*"] = "cdot times ast", ["/"] = "div", ["\\{"] = "lbrace",
  ["\\}"] = "rbrace", ["|"] = "lvert rvert vert mid", ["["] = "lbrack",
  ["]"] = "rbrack", ["\\le "] = "leq leqslant", ["\\ge "] = "geq geqslant",
  ["<"] = "lt", [">"] = "gt", ["\\ne "] = "neq", ["\\emptyset "] = "varnothing",
  ["\\to "] = "rightarrow longrightarrow", ["\\dots "] = "ldots cdots",
  ["\\epsilon "] = "varepsilon", ["\\phi "] = "varphi",
  ["\5degree\6"] = "degree", ["\5pound\6"] = "pounds", ["\5euro\6"] = "euro",
  ["\5dollar\6"] = "textdollar",
}) do
  for _, word in ipairs(rlf.words(words)) do
    commands[word] = name == "" and " " or name
  end
end

-- Names that plain text has no backslash for.
local bare = {}
for _, word in ipairs(rlf.words([[sqrt pi sin cos tan log ln infinity]])) do
  bare[word] = "\\" .. (word == "infinity" and "infty" or word) .. " "
end

-- Bytes that are no UTF-8 become U+FFFD, and control characters spaces.
local function valid(text)
  local out, from = {}, 1
  while true do
    local _, bad = utf8.len(text, from)
    out[#out + 1] = text:sub(from, (bad or 0) - 1)
    if not bad then
      return (table.concat(out):gsub("%c", " "))
    end
    out[#out + 1] = "\u{fffd}"
    from = bad + 1
  end
end

-- A dollar sign before the number that is all there is, "$5", is money; two
-- hold mathematics.
local function without_dollars(text)
  text = text:gsub("\\%$", "\5dollar\6")
  local _, count = text:gsub("%$", "")
  if count == 1 then
    text = text:gsub("^(%s*[+-]?)%$(%s*[%d.])", "%1\5dollar\6%2")
  end
  return (text:gsub("%$", ""))
end

-- 10\,000 and 10{,}000: what parts the digits of a number by threes.
local function without_gaps(text)
  text = text:gsub("(%d),%s*\\!%s*(%d)", "%1%2"):gsub("(%d)\\!,(%d)", "%1%2")
  for _, gap in ipairs({"\\[, ]", "{,}"}) do
    local count = 1
    while count > 0 do
      text, count = text:gsub("%f[%d](%d+)" .. gap .. "(%d%d%d)%f[%D]", "%1%2")
    end
  end
  return (text:gsub("{([,:=<>])}", "%1"))
end

-- Spacing, dollars, percents, degrees; one name for each thing. The case of
-- letters goes.
function notation.clean(text)
  text = valid(text):gsub("\\\\%s*%[%s*%-?[%d.]+%s*%a%a%s*%]", notation.row)
    :gsub("\\\\", notation.row)
  text = text:gsub(CHARACTER, before_fold)
  text = text:gsub("\8\7", ""):gsub("\7", "^{"):gsub("\8", "}")
    :gsub("\15\14", ""):gsub("\14", "_{"):gsub("\15", "}")
  text = text:gsub("\\sqrt (%d+)", "\\sqrt{%1}")
  text = rlf.fold(text) or text
  text = text:gsub("μ([mgsl])%f[%A]", "u%1"):gsub(CHARACTER, after_fold)
  text = without_gaps(text)
  text = text:gsub("\\[!,;:> ]", " "):gsub("\\[()]", " ")
    :gsub("\\[%[%]]", " ")
  text = text:gsub("\\left%s*%.", " "):gsub("\\right%s*%.", " ")
  text = text:gsub("\\(%a+)", commands)
  text = text:gsub("%f[\\%a]%a+", bare)
  text = without_dollars(text)
  text = text:gsub("\\?%%", "\5percent\6")
  text = text:gsub("%^%s*{%s*\\circ%s*}", "\5degree\6")
    :gsub("%^%s*\\circ%f[%A]", "\5degree\6")
  text = text:gsub("\5degree\6%s*c%f[%A]", "\5celsius\6")
    :gsub("\5degree\6%s*f%f[%A]", "\5fahrenheit\6")
  text = text:gsub("<=", "\\le "):gsub(">=", "\\ge ")
  text = text:gsub("%f[%a]([ap])%.%s*m%f[%A]%.?", "%1m")
  return (text:gsub("~", " "))
end

-- Replace \name{inside} by what `how` makes of inside, and what follows it.
local function command(text, name, how)
  local out, from = {}, 1
  while true do
    local first, last = text:find("\\" .. name .. "%s*%f[{]", from)
    local group = first and text:match("^%b{}", last + 1)
    if not group then
      out[#out + 1] = text:sub(from)
      return table.concat(out)
    end
    out[#out + 1] = text:sub(from, first - 1)
    from = last + #group + 1
    local put, past = how(group:sub(2, -2), text, from)
    out[#out + 1] = put
    from = past or from
  end
end

local months = {}
for _, word in ipairs(rlf.words([[january february march april may june july
    august september october november december]])) do
  months[word] = true
end

-- Environments that only display what they hold.
local displays = {}
for _, word in ipairs(rlf.words([[aligned align alignat gathered gather equation
    split cases]])) do
  displays[word] = true
end

function notation.is_display(name)
  return displays[name] ~= nil
end

-- Words that change what a number says: "not 5", "5 or more".
local limits = {}
for words in ([[not, at least, at most, or more, or less, or fewer, or greater,
    more than, less than, fewer than, greater than, no more, no less, between,
    except]]):gmatch("%s*([^,]+)") do
  limits[#limits + 1] = "%f[%a]" .. words .. "%f[%A]"
end

local function is_limit(text)
  for _, pattern in ipairs(limits) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

-- Powers of ten that are words: 1.2 million.
local scales = {thousand = 3, million = 6, billion = 9, trillion = 12}

-- Commands that hold text, and those that set letters which mean themselves.
local of_text = {"text", "textnormal", "textbf", "textit", "textrm", "textsf",
  "mbox"}
local of_letters = {"mathrm", "mathbf", "mathit", "mathsf", "mathbb", "mathcal",
  "boldsymbol", "operatorname", "fbox", "boxed", "rm", "bf"}

-- \text{} and its kin: a text that is all there is stays; "or" and "and" part
-- answers; what follows a number is a unit and goes, with its power, into
-- `found`, which becomes {unknown = true} if it is none.
function notation.texts(text, found)
  local present, outside = {}, text
  for name in text:gmatch("\\(%a+)") do
    present[name] = true
  end
  local function each(names, how, within)
    for _, name in ipairs(names) do
      within = present[name] and command(within, name, how) or within
    end
    return within
  end
  local function nothing()
    return ""
  end
  outside = each(of_letters, nothing, each(of_text, nothing, outside))
  local alone = not outside:gsub("\5%a+\6", ""):find("%w")
  local function keep(inside, whole, past)
    local word = rlf.trim(inside:gsub("[\5\6]", " "))
    if word == "or" or word == "and" then
      return notation.apart
    elseif alone or not outside:find("%d") or is_limit(word) then
      return " " .. inside .. " "
    elseif word:find("^[ap]m$") or months[word] then
      return word .. " "
    end
    local scale = word:match("^%a+")
    if scales[scale] and whole:find("%d%s*\\") then
      return " " .. scale .. " " ..
        (word == scale and "" or "\5" .. word:sub(#scale + 1) .. "\6")
    end
    local power, after = whole:match("^%s*%^%s*{?(%d)}?()", past)
    return "\5" .. word .. (power and "^" .. power or "") .. "\6", after
  end
  text = each(of_text, keep, text)
  text = each(of_letters, function(inside) return inside end, text)
  text = text:gsub("(%d)%s*(%a+)", function(digit, word)
    return scales[word] and digit .. "*10^{" .. scales[word] .. "}" or nil
  end)
  return (text:gsub("\5([^\6]*)\6", function(words)
    local name = unit.of(words)
    found[#found + 1] = name
    found.unknown = found.unknown or not name
    return " "
  end))
end

-- Letters that are read as a product, as in xy and kx: a few small ones that are
-- no word.
function notation.is_product(letters)
  return #letters <= 3 and letters:find("^%l+$") ~= nil and
    (letters:find("[xz]") ~= nil or not letters:find("[aeiouy]") or
    not letters:find("[^y]"))
end

-- Letters only: words, of which one is no product of letters.
function notation.is_words(text)
  if text:find("[\\%d%^_+*/()=<>|]") then
    return false
  end
  for letters in text:gmatch("%a%a+") do
    if not notation.is_product(letters) then
      return true
    end
  end
  return false
end

return notation
