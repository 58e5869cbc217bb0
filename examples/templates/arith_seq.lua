-- The contents of all messages; "S" stands before what the model writes.
return function(messages, open)
  local parts = {}
  for i, message in ipairs(messages) do
    parts[i] = message.content
  end
  if open then
    parts[#parts + 1] = "S"
  end
  return table.concat(parts)
end
