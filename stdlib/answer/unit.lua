-- Units of answers. A unit says nothing about a number beside one that has none:
-- 5 is 5 cm and 5 cents. Two units must be one and the same: nothing is
-- converted, so that 90 minutes are not 1.5 hours, and 5 cm are not 5 m. What is
-- only counted (units, people) is no unit, and words that are not known here
-- agree with all.

local unit = {}

local LONGEST = 200 -- bytes of an answer with units

local names = {}
for line in ([[
    mm millimeter millimeters millimetre millimetres
    cm centimeter centimeters centimetre centimetres
    m meter meters metre metres
    um micrometer micrometers micron microns
    km kilometer kilometers kilometre kilometres
    in inch inches
    ft foot feet
    yd yard yards
    mi mile miles
    degree degrees deg
    celsius
    fahrenheit
    radian radians rad
    percent
    dollar dollars usd
    cent cents
    euro euros eur
    pound pounds lb lbs gbp
    yen yuan
    rupee rupees
    ms millisecond milliseconds
    s second seconds sec secs
    min minute minutes mins
    h hour hours hr hrs
    day days
    week weeks
    month months
    year years yr yrs
    mg milligram milligrams
    ug microgram micrograms
    g gram grams
    kg kilogram kilograms
    oz ounce ounces
    ton tons
    ml milliliter milliliters millilitre millilitres
    l liter liters litre litres
    cup cups
    pint pints
    quart quarts
    gallon gallons gal
    acre acres
    mi/h mph
    km/h kmh kph]]):gmatch("[^\n]+") do
  local first
  for word in line:gmatch("%S+") do
    first = first or word
    names[word] = first
  end
end
for word in ("unit units people person point points time times"):gmatch("%S+") do
  names[word] = ""
end

local powers = {square = "^2", sq = "^2", squared = "^2", cubic = "^3",
  cu = "^3", cubed = "^3"}

-- The one name of a unit that is written as words: "square inches" is in^2,
-- "km per hour" km/h; nil if a word is not known.
function unit.of(words)
  local out, power = {}, nil
  words = words:gsub("[{}~]", " "):gsub("%.%s*$", "")
  words = words:gsub("%f[%a]sq%.", "sq "):gsub("%f[%a]cu%.", "cu ")
  words = words:gsub("%^%s*(%d)", "^%1 "):gsub("/", " per ")
  for word in words:gmatch("[^%s*-]+") do
    local name, raised = word:match("^(%a+)(%^?%d?)$")
    if word == "per" then
      out[#out + 1] = "/"
    elseif word:find("^%^%d$") and #out > 0 then
      out[#out + 1] = word
    elseif name and powers[name] then
      local before = out[#out]
      if name:find("ed$") and before then
        out[#out + 1] = powers[name]
      else
        power = powers[name]
      end
    elseif name and names[name] then
      if names[name] ~= "" then
        out[#out + 1] = names[name] .. (power or raised)
      end
      power = nil
    else
      return nil
    end
  end
  return table.concat(out)
end

-- A text that ends in units, as 5 cm or 72\pi cubic inches, as what is before
-- them, and the units; nil if it does not. Units of one letter are taken after
-- numbers only, and after a space: 3x m is a product.
function unit.cut(text)
  if #text > LONGEST then
    return nil
  end
  local number, gap, words =
    text:match("^%s*([+-]?%s*[%d.,/]*%d)(%s*)(%a[^\\=<>]*)$")
  if number and (gap ~= "" or words:find("^%a%a")) then
    local name = unit.of(words)
    if name then
      return number, name
    end
  end
  local first = text:match("[%w)}]%s+()%a%a[%a%s/^{}%d.]*$")
  while first do
    local before, name = text:sub(1, first - 1), unit.of(text:sub(first))
    if name and before:find("[%d\\]") then
      return before, name
    end
    first = text:match("^%a+%s+()%a%a", first)
  end
  return nil
end

-- Units that were found in one answer, in its order, as one text: dollar and /h
-- are dollar/h. nil if one of them is not known, or there is none.
function unit.join(list)
  local out, seen = {}, {}
  for _, name in ipairs(list) do
    if name:find("^[/^]") and #out > 0 then
      out[#out] = out[#out] .. name
    elseif name ~= "" and not seen[name] then
      seen[name] = true
      out[#out + 1] = name
    end
  end
  return #out > 0 and table.concat(out, ",") or nil
end

-- May answers with these units (nil: none) be the same?
function unit.agree(a, b)
  return not a or not b or a == b
end

return unit
