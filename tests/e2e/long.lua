-- A text of as many bytes as the hook's max_text allows, another for each sample.
local most = 200 * 1024

return function(sample)
    local text = sample.prompt .. "=" .. sample.response .. " "
    return (text:rep(most // #text + 1):sub(1, most))
end
