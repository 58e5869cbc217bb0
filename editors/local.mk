# editors: files for editors, which travel in the tarball and are copied by hand.
EXTRA_DIST += %D%/README.md \
	%D%/vim/ftdetect/rlf.vim %D%/vim/ftplugin/rlf.vim \
	%D%/vim/indent/rlf.vim %D%/vim/syntax/rlf.vim \
	%D%/vscode/client.js %D%/vscode/extension.js \
	%D%/vscode/language-configuration.json %D%/vscode/package.json \
	%D%/vscode/syntaxes/rlf.tmLanguage.json
