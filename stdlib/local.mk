# stdlib: *.rlf and *.lua, installed as $(pkgdatadir)/stdlib/...
# nobase_dist_pkgdata_DATA += %D%/NAME.rlf
nobase_dist_pkgdata_DATA += %D%/answer.lua %D%/answer/expression.lua \
	%D%/answer/extract.lua %D%/answer/form.lua %D%/answer/last.lua \
	%D%/answer/notation.lua \
	%D%/answer/number.lua %D%/answer/radical.lua %D%/answer/term.lua \
	%D%/answer/unit.lua %D%/template/chatml.lua %D%/template/llama3.lua
nobase_dist_pkgdata_DATA += %D%/advantage.rlf %D%/loss.rlf %D%/reward.rlf

EXTRA_DIST += tests/oracle/formulas.py tests/oracle/formulas.json \
	tests/answers.tsv tests/answers.lua tests/oracle/answers.py

check_PROGRAMS += tests/unit/stdlib_formulas
tests_unit_stdlib_formulas_LDADD = $(GRAMMAR_LIBS) $(KERNELS_LIBS) \
	$(JANSSON_LIBS) -lm
