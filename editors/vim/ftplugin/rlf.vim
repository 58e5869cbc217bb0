" Programs of rlflow: comments, indentation, the standard form by gq or :RlfFormat.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s
setlocal comments=:##,:#
setlocal formatoptions-=t formatoptions+=croql
setlocal shiftwidth=4 softtabstop=4 expandtab
setlocal formatprg=rlflow\ fmt\ -
setlocal suffixesadd=.rlf
setlocal include=^\\s*import
setlocal define=^\\s*\\(def\\\|data\\\|model\\\|hook\\\|state\\\|param\\)
let &l:iskeyword = '@,48-57,_'

" The whole buffer in the standard form. One that is wrong stays as it is, and
" the message is shown.
function! s:Format() abort
  let l:text = systemlist('rlflow fmt -', getline(1, '$'))
  if v:shell_error
    echohl ErrorMsg
    for l:line in l:text
      echomsg l:line
    endfor
    echohl None
    return
  endif
  let l:view = winsaveview()
  call setline(1, l:text)
  if line('$') > len(l:text)
    silent execute (len(l:text) + 1) . ',$delete _'
  endif
  call winrestview(l:view)
endfunction
command! -buffer -bar RlfFormat call s:Format()

let b:undo_ftplugin = 'setlocal commentstring< comments< formatoptions< '
      \ . 'shiftwidth< softtabstop< expandtab< formatprg< suffixesadd< '
      \ . 'include< define< iskeyword< | delcommand -buffer RlfFormat'
if !has('patch-8.2.4300') && !has('nvim-0.9')
  let b:undo_ftplugin = substitute(b:undo_ftplugin, 'delcommand -buffer', 'delcommand', '')
endif
