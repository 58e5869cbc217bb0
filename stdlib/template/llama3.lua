-- Llama 3: the mark that begins a text, headers with the role between two marks,
-- contents without white space at their ends.

-- White space as the models' own templates trim it: Python's str.strip.
local white = {}
for _, code in ipairs({0x9, 0xa, 0xb, 0xc, 0xd, 0x1c, 0x1d, 0x1e, 0x1f, 0x20,
    0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000}) do
  white[utf8.char(code)] = true
end
for code = 0x2000, 0x200a do
  white[utf8.char(code)] = true
end

local function stripped(text)
  local first, last = 1, #text
  while first <= last do
    local c = text:match("^.[\x80-\xbf]*", first)
    if not white[c] then
      break
    end
    first = first + #c
  end
  while last >= first do
    local at = last
    while at > first and text:find("^[\x80-\xbf]", at) do
      at = at - 1
    end
    if not white[text:sub(at, last)] then
      break
    end
    last = at - 1
  end
  return text:sub(first, last)
end

return function(messages, open)
  local out = {"<|begin_of_text|>"}
  local function header(role)
    return "<|start_header_id|>" .. role .. "<|end_header_id|>\n\n"
  end
  for _, message in ipairs(messages) do
    out[#out + 1] = header(message.role) .. stripped(message.content) ..
      "<|eot_id|>"
  end
  if open then
    out[#out + 1] = header("assistant")
  end
  return table.concat(out)
end
