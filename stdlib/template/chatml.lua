-- ChatML: <|im_start|>role, a new line, the content, <|im_end|>, a new line.
return function(messages, open)
  local out = {}
  for i, message in ipairs(messages) do
    out[i] = "<|im_start|>" .. message.role .. "\n" .. message.content ..
      "<|im_end|>\n"
  end
  if open then
    out[#out + 1] = "<|im_start|>assistant\n"
  end
  return table.concat(out)
end
