-- ChatML: <|im_start|>role, a new line, the content, <|im_end|>, a new line.
-- Nothing is added: the templates of Qwen2 and Qwen2.5 begin a chat that has no
-- system message with one of their own, which the data has to have instead.
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
