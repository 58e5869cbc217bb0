-- The contents of all messages, one behind the other; what the assistant says ends
-- with "<eos>". The first stands behind "<bos>".
return function(messages, open)
  local out = { "<bos>" }
  for _, message in ipairs(messages) do
    out[#out + 1] = message.content
    if message.role == "assistant" then
      out[#out + 1] = "<eos>"
    end
  end
  return table.concat(out)
end
