-- Llama 3: headers with the role between two marks, contents without white space
-- at their ends. What begins the text is the tokenizer's to add.
return function(messages, open)
  local out = {}
  local function header(role)
    return "<|start_header_id|>" .. role .. "<|end_header_id|>\n\n"
  end
  for i, message in ipairs(messages) do
    out[i] = header(message.role) .. rlf.trim(message.content) .. "<|eot_id|>"
  end
  if open then
    out[#out + 1] = header("assistant")
  end
  return table.concat(out)
end
