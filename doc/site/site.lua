-- A page of the site as pandoc reads it: links go to the pages made of the files
-- they name, tables can be scrolled, and around it come the lists of pages and of
-- its headings. Writes what the search has of it beside. build_site says in the
-- metadata: work (its folder), number, page (the file).

local work, number, page
local pages, by_file, shown = {}, {}, {}
local manuals = {} -- "rlf(5)" and "man rlf": the page

local function read(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local function escape(text)
  return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}))
end

local function read_lists()
  for line in io.lines(work .. "/pages") do
    local file, url, section, chain, title = line:match("^(.-)\t(.-)\t(.-)\t(.-)\t(.*)$")
    local entry = {file = file, url = url, section = section, chain = chain, title = title}
    pages[#pages + 1] = entry
    by_file[file] = entry
    local name, part = file:match("^man/(.+)%.(%d)$")
    if name then
      manuals[name .. "(" .. part .. ")"] = entry
      manuals["man " .. name] = entry
    end
  end
  for line in io.lines(work .. "/linked") do
    local file = line:match("^picture\t(.*)$")
    if file then shown[file] = true end
  end
end

-- File name `target` as a page in `folder` writes it, from the root of the source.
local function resolved(folder, target)
  local parts = {}
  for part in (folder .. "/" .. target):gmatch("[^/]+") do
    if part == ".." then
      if #parts == 0 then return nil end
      table.remove(parts)
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

local function folder_of(file)
  return file:match("^(.*)/[^/]*$") or ""
end

-- The way from this page to address `url` of the site.
local function way(url)
  local up = by_file[page].url:gsub("[^/]*$", ""):gsub("[^/]+/", "../")
  return up .. url
end

-- The page of the site that `target` means, as this page writes it.
local function page_named(target)
  local file = resolved(folder_of(page), target)
  if not file then return nil end
  return by_file[file] or by_file[file == "" and "README.md" or file .. "/README.md"]
end

local function link(element)
  local target = element.target
  if target:match("^%a[%w+.-]*:") or target:match("^#") then return element, false end
  local name, anchor = target:match("^([^#]*)(.*)$")
  local to = page_named(name)
  if to then
    element.target = way(to.url) .. anchor
    return element, false
  end
  if shown[resolved(folder_of(page), name) or ""] then return element, false end
  return element.content, false
end

-- What stands in backquotes and is a page of the site is a link to it.
local function code(element)
  local to = manuals[element.text]
  if not to and element.text:match("/") and not element.text:match("[ <>*]") then
    to = by_file[element.text] or page_named(element.text) or
      by_file[(element.text:gsub("/$", "")) .. "/README.md"]
  end
  if #element.text <= 24 then element.classes:insert("whole") end -- in one line
  if to and to.file ~= page then
    return pandoc.Link({element}, way(to.url)), false
  end
  return element
end

local function framed(element)
  return {pandoc.RawBlock("html", '<div class="wide">'), element, pandoc.RawBlock("html", "</div>")}
end

-- Pages in their sections, as lists.
local function navigation()
  local out, section = {}, nil
  for _, entry in ipairs(pages) do
    if entry.section ~= "-" then
      if entry.section ~= section then
        if section then out[#out + 1] = "</ul>" end
        section = entry.section
        out[#out + 1] = "<h2>" .. escape(section) .. "</h2>\n<ul>"
      end
      local mark = entry.file == page and ' aria-current="page"' or ""
      out[#out + 1] = string.format('<li><a href="%s"%s>%s</a></li>', way(entry.url), mark, escape(entry.title))
    end
  end
  out[#out + 1] = "</ul>"
  return table.concat(out, "\n")
end

-- The pages before and after this one, where there is an order of reading.
local function neighbours()
  local this, before, after = by_file[page], nil, nil
  if this.chain == "" then return "" end
  for i, entry in ipairs(pages) do
    if entry == this then before, after = pages[i - 1], pages[i + 1] end
  end
  local out = {}
  for _, side in ipairs {{before, "prev", "Previous: "}, {after, "next", "Next: "}} do
    local entry = side[1]
    if entry and entry.chain == this.chain then
      out[#out + 1] = string.format('<a rel="%s" href="%s">%s%s</a>', side[2], way(entry.url), side[3],
        escape(entry.title))
    end
  end
  return '<nav class="neighbours" aria-label="Order of reading">' .. table.concat(out, "\n") .. "</nav>"
end

-- The headings as lists: {level, id, text}.
local function contents(headings)
  local out = {}
  for _, heading in ipairs(headings) do
    if heading[1] > 1 and heading[1] < 4 and heading[2] ~= "" then
      out[#out + 1] = string.format('<li class="level-%d"><a href="#%s">%s</a></li>', heading[1],
        escape(heading[2]), escape(heading[3]))
    end
  end
  if #out < 3 then return "" end
  return "<ul>\n" .. table.concat(out, "\n") .. "\n</ul>"
end

-- Blocks as text to search: pieces in the order of the page.
local function text_of(block)
  local pieces = {}
  local function add(text) pieces[#pieces + 1] = text end
  pandoc.Div({block}):walk {
    traverse = "topdown",
    Plain = function() add(" ") end, Para = function() add(" ") end,
    CodeBlock = function(e) add(" " .. e.text) end,
    Space = function() add(" ") end, SoftBreak = function() add(" ") end,
    LineBreak = function() add(" ") end, Math = function(e) add(e.text) end,
    Code = function(e) add(e.text) end, Str = function(e) add(e.text) end,
  }
  return table.concat(pieces)
end

-- A text as JavaScript writes it.
local function quoted(text)
  text = text:gsub("%s+", " "):gsub("[\\\"]", "\\%0"):gsub("%c", ""):gsub("</", "<\\/")
  return '"' .. text .. '"'
end

-- What the search has of this page: for each heading {id, heading, text}.
local function write_search(title, parts)
  local out = {}
  for _, part in ipairs(parts) do
    out[#out + 1] = string.format("[%s,%s,%s]", quoted(part[1]), quoted(part[2]), quoted(part[3]))
  end
  local file = assert(io.open(work .. "/search/" .. number, "wb"))
  file:write(string.format("[%s,%s,[%s]],\n", quoted(by_file[page].url), quoted(title), table.concat(out, ",\n")))
  file:close()
end

-- Sections of a page that was written in Markdown.
local function markdown(doc)
  local headings, parts = {}, {{"", "", ""}}
  for _, block in ipairs(doc.blocks) do
    if block.t == "Header" then
      local text = pandoc.utils.stringify(block.content)
      headings[#headings + 1] = {block.level, block.identifier, text}
      parts[#parts + 1] = {block.identifier, text, ""}
    elseif page:match("%.md$") then
      parts[#parts][3] = parts[#parts][3] .. text_of(block)
    end
  end
  return headings, parts
end

local function plain(html)
  return (html:gsub("<[^>]*>", ""):gsub("&#x(%x+);", function(hex) return utf8.char(tonumber(hex, 16)) end)
    :gsub("&(%a+);", {lt = "<", gt = ">", quot = '"', amp = "&"}))
end

-- Sections of a manual page, which mandoc made: its headings are one level lower
-- here, below the page's own.
local function manual(doc, title)
  local html = read(work .. "/" .. number .. ".fragment")
  html = html:gsub("<table class=\"head\">.-</table>", ""):gsub("<table class=\"foot\">.-</table>", "")
  html = html:gsub("<(/?)h2", "<%1h3"):gsub("<(/?)h1", "<%1h2")
  -- pages that are not of this site are no links
  html = html:gsub('<a class="Xr" href="([^"]*)%.html">(.-)</a>', function(name, text)
    local to = by_file["man/" .. name]
    return to and string.format('<a class="Xr" href="%s">%s</a>', way(to.url), text) or text
  end)
  -- an address that mandoc does not write as addresses are written
  html = html:gsub('href="#([^"]*)"', function(id)
    return 'href="#' .. id:gsub("[%% <>`{}^|\\]", function(c) return string.format("%%%02X", c:byte()) end) .. '"'
  end)
  local headings, parts = {}, {{"", "", ""}}
  local at = 1
  for start, level, id, text, stop in html:gmatch('()<h([23])[^>]- id="([^"]*)"[^>]*>(.-)</h[23]>()') do
    parts[#parts][3] = plain(html:sub(at, start - 1))
    headings[#headings + 1] = {tonumber(level), id, plain(text)}
    parts[#parts + 1] = {id, plain(text), ""}
    at = stop
  end
  parts[#parts][3] = plain(html:sub(at))
  doc.blocks = {pandoc.Header(1, title), pandoc.RawBlock("html", html)}
  return headings, parts
end

function Pandoc(doc)
  work, number = doc.meta.work, doc.meta.number
  page = pandoc.utils.stringify(doc.meta.page)
  work, number = pandoc.utils.stringify(work), pandoc.utils.stringify(number)
  read_lists()
  local title = by_file[page].title
  local is_manual = page:match("^man/.*%.%d$")
  local headings, parts
  if is_manual then
    headings, parts = manual(doc, title)
  else
    headings, parts = markdown(doc)
    title = headings[1] and headings[1][3] or title
  end
  write_search(title, parts)
  doc = doc:walk {traverse = "topdown", Link = link, Code = code, Table = function(t)
    for i, spec in ipairs(t.colspecs) do t.colspecs[i] = {spec[1], nil} end
    return framed(t)
  end}
  local function raw(text) return pandoc.MetaBlocks {pandoc.RawBlock("html", text)} end
  doc.meta = {
    pagetitle = title == "rlflow" and title or title .. " – rlflow",
    navigation = raw(navigation()), neighbours = raw(neighbours()),
    manual = is_manual and true or nil,
  }
  local list = contents(headings)
  if list ~= "" then doc.meta.contents = raw(list) end
  return doc
end
