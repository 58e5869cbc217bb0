autocmd BufNewFile,BufRead *.rlf setfiletype rlf
autocmd BufNewFile,BufRead *.plan if getline(1) =~# '^# plan \x\{32},' | setfiletype rlf | endif
