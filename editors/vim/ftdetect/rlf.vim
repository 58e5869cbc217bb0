autocmd BufNewFile,BufRead *.rlf setfiletype rlf
autocmd BufNewFile,BufRead *.plan if getline(1) =~# '^#.*rlflow plan' | setfiletype rlf | endif
