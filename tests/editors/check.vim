" What Vim makes of a program. Writes "ok NAME" and "not ok NAME" into `seen`.
let s:lines = []
function! s:Ok(good, name, seen) abort
  call add(s:lines, (a:good ? 'ok ' : 'not ok ') . a:name)
  if !a:good
    call add(s:lines, '# ' . string(a:seen))
  endif
endfunction
function! s:Group(word) abort
  call cursor(1, 1)
  call search('\V' . a:word, 'cW')
  return synIDattr(synID(line('.'), col('.'), 1), 'name')
endfunction
call writefile(['# plan ' . repeat('0', 32) . ', program'], 'p.plan')
edit p.plan
call s:Ok(&filetype ==# 'rlf', 'a plan has it, too', &filetype)
edit p.rlf
call s:Ok(&filetype ==# 'rlf', 'a program has its file type', &filetype)
call s:Ok(&commentstring ==# '# %s', 'comments', &commentstring)
call s:Ok(&formatprg ==# 'rlflow fmt -', 'formatprg', &formatprg)
for [s:word, s:want] in [['def', 'rlfDeclaration'], ['flow', 'rlfDeclaration'],
      \ ['report', 'rlfStatement'], ['double(3', 'rlfName'], ['2', 'rlfNumber']]
  call s:Ok(s:Group(s:word) ==# s:want, 'colours: ' . s:word, s:Group(s:word))
endfor
enew!
setfiletype rlf
call setline(1, ['x = roll.data + mean(y over group) # a', 's = "in" ? data: 3'])
for [s:word, s:want] in [['data', 'rlfField'], ['mean', 'rlfReduction'],
      \ ['over', 'rlfOperator'], ['group', 'rlfLevel'], ['# a', 'rlfComment'],
      \ ['in"', 'rlfString'], ['data:', 'rlfLabel']]
  call s:Ok(s:Group(s:word) ==# s:want, 'colours: ' . s:word, s:Group(s:word))
endfor
enew!
setfiletype rlf
call setline(1, ['flow  f(){', 'report x=1', '}'])
normal! gg=G
call s:Ok(getline(1, '$') ==# ['flow  f(){', '    report x=1', '}'], 'indentation', getline(1, '$'))
normal! gggqG
call s:Ok(getline(1, '$') ==# ['flow f() {', '    report x = 1', '}'], 'gq is the standard form', getline(1, '$'))
call setline(1, 'flow  f() {')
RlfFormat
call s:Ok(getline(1) ==# 'flow f() {', ':RlfFormat', getline(1))
call setline(1, 'flow  f( {')
silent! RlfFormat
call s:Ok(getline(1, '$') ==# ['flow  f( {', '    report x = 1', '}'], 'a program that is wrong stays', getline(1, '$'))
call writefile(s:lines, 'seen')
qall!
