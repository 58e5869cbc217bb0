-- The snippet of editors/README.md, which the test has put into snippet.lua, in
-- Neovim: what is wrong, what a name means. Prints "ok NAME" and "not ok NAME".
local lines = {}
local function ok(good, name, seen)
  table.insert(lines, (good and 'ok ' or 'not ok ') .. name)
  if not good then
    table.insert(lines, '# ' .. vim.inspect(seen):gsub('\n', ' '))
  end
end
local function ask(method, line, character)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    position = { line = line, character = character },
  }
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/' .. method, params, 20000)
  for _, answer in pairs(answers or {}) do
    return answer.result
  end
end
local function main()
  dofile('snippet.lua')
  vim.cmd('edit p.rlf')
  ok(vim.bo.filetype == 'rlf', 'a program has its file type', vim.bo.filetype)
  vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end)
  local seen = vim.diagnostic.get(0)
  ok(#seen == 1 and seen[1].lnum == 3 and seen[1].message:find("'w'", 1, true),
    'Neovim shows what is wrong', seen)
  vim.api.nvim_buf_set_text(0, 3, 15, 3, 16, { 'y' })
  local function errors()
    return vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
  end
  vim.wait(20000, function() return #errors() == 0 end)
  ok(#errors() == 0, 'a change of a letter', errors())
  local hover = ask('hover', 2, 9)
  ok(hover and hover.contents.value:find('def double(x)', 1, true), 'a hover', hover)
  local at = ask('definition', 2, 9)
  ok(at and at.range.start.line == 0, 'a definition', at)
  local items = ask('completion', 2, 10)
  ok(items and #items.items > 10, 'a completion', items)
  ok(vim.bo.omnifunc == 'v:lua.vim.lsp.omnifunc', 'the snippet has run to its end')
end
local good, why = pcall(main)
if not good then
  ok(false, 'the snippet', why)
end
local file = io.open('seen', 'w')
file:write(table.concat(lines, '\n') .. '\n')
file:close()
vim.cmd('qall!')
