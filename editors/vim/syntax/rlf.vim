" Programs and cluster files of rlflow. Words are those of grammar/keyword.def
" and grammar/builtin.def; behind a dot and before a colon they are names.
if exists('b:current_syntax')
  finish
endif

syntax case match

syntax match rlfNumber /\v<\d+(\.\d+)?([eE][-+]?\d+)?(ms|s|min|h|KB|MB|GB|K|M)?>/
syntax match rlfName /\v<\h\w*\ze\s*\(/
syntax match rlfField /\v\.@1<=\h\w*/
syntax match rlfLabel /\v<\h\w*\ze\s*:[^=]/

syntax match rlfDeclaration /\v\.@1<!<(import|as|param|in|data|model|hook|state|def|flow|place|on)>(\s*:[^=])@!/
syntax match rlfCluster /\v^\s*\zs<(device|machine|cluster)>\ze\s+\h\w*\s*\=/
syntax match rlfStatement /\v\.@1<!<(update|minimize|report|keep|return|checkpoint|break)>(\s*:[^=])@!/
syntax match rlfRepeat /\v\.@1<!<(for|every|collect)>(\s*:[^=])@!/
syntax match rlfConditional /\v\.@1<!<(if|else)>(\s*:[^=])@!/
syntax match rlfOperator /\v\.@1<!<(over|and|or|not)>(\s*:[^=])@!/
syntax match rlfBoolean /\v\.@1<!<(true|false)>(\s*:[^=])@!/
syntax match rlfFunction /\v\.@1<!<(exp|log|sqrt|abs|min|max|clamp|floor|sigmoid|log_sigmoid|tanh|uniform|sg|discount|cumsum|next|prev)>\ze\s*\(/
syntax match rlfReduction /\v\.@1<!<(sum|mean|std|var|min|max|count|rank|rotate)>\ze\s*\(/
syntax match rlfLevel /\v(<over\s+)@<=(tokens|group|batch|vocab)>/
syntax match rlfStep /\v\.@1<!<step>(\s*:[^=])@!/

syntax region rlfString start=/"/ skip=/\\./ end=/"/ oneline contains=rlfEscape
syntax match rlfEscape /\v\\([ntr"\\]|u\{\x+\})/ contained
syntax keyword rlfTodo TODO FIXME XXX contained
syntax match rlfComment /#.*/ contains=rlfTodo,@Spell
syntax match rlfDoc /##.*/ contains=rlfTodo,@Spell

highlight default link rlfDeclaration Keyword
highlight default link rlfCluster Keyword
highlight default link rlfStatement Statement
highlight default link rlfRepeat Repeat
highlight default link rlfConditional Conditional
highlight default link rlfOperator Operator
highlight default link rlfBoolean Boolean
highlight default link rlfName Function
highlight default link rlfFunction Function
highlight default link rlfReduction Function
highlight default link rlfLevel Type
highlight default link rlfStep Identifier
highlight default link rlfField Identifier
highlight default link rlfLabel Identifier
highlight default link rlfNumber Number
highlight default link rlfString String
highlight default link rlfEscape SpecialChar
highlight default link rlfComment Comment
highlight default link rlfDoc SpecialComment
highlight default link rlfTodo Todo

let b:current_syntax = 'rlf'
