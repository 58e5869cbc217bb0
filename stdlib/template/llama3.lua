-- Llama 3: the mark that begins a text, headers with the role between two marks,
-- contents without white space at their ends.
return function(messages, open)
  local out = {"<|begin_of_text|>"}
  local function header(role)
    return "<|start_header_id|>" .. role .. "<|end_header_id|>\n\n"
  end
  for _, message in ipairs(messages) do
    out[#out + 1] = header(message.role) .. rlf.trim(message.content) ..
      "<|eot_id|>"
  end
  if open then
    out[#out + 1] = header("assistant")
  end
  return table.concat(out)
end
