" Four columns for each bracket that is open.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1
setlocal indentexpr=RlfIndent(v:lnum)
setlocal indentkeys=0},0),0],o,O
let b:undo_indent = 'setlocal indentexpr< indentkeys<'
if exists('*RlfIndent')
  finish
endif

function! RlfIndent(lnum) abort
  let l:before = prevnonblank(a:lnum - 1)
  if l:before == 0
    return 0
  endif
  let l:line = substitute(getline(l:before), '"\(\\.\|[^"\\]\)*"\|#.*', '', 'g')
  let l:open = strlen(substitute(l:line, '[^([{]', '', 'g'))
  let l:closed = strlen(substitute(l:line, '[^)\]}]', '', 'g'))
  let l:indent = indent(l:before)
  let l:begins = l:line =~# '^\s*[)\]}]'
  let l:more = l:open - l:closed + (l:begins ? 1 : 0)
  let l:indent += l:more > 0 ? shiftwidth() : l:more < 0 ? -shiftwidth() : 0
  if getline(a:lnum) =~# '^\s*[)\]}]'
    let l:indent -= shiftwidth()
  endif
  return l:indent < 0 ? 0 : l:indent
endfunction
