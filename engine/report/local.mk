# engine/report: layer 3. The page's sources are embedded in the library.
noinst_LIBRARIES += libreport.a
libreport_a_SOURCES = \
	%D%/facts.c %D%/lines.c %D%/numbers.c %D%/page.c %D%/page.h \
	%D%/ranks.c %D%/report.c %D%/report.h %D%/tokens.c
nodist_libreport_a_SOURCES = %D%/embedded.c
report_page = \
	%D%/page/page.css \
	%D%/page/base.js %D%/page/data.js %D%/page/chart.js \
	%D%/page/curves.js %D%/page/graph.js %D%/page/program.js \
	%D%/page/samples.js %D%/page/ranks.js %D%/page/memory.js %D%/page/times.js %D%/page/findings.js \
	%D%/page/main.js
EXTRA_DIST += $(report_page) %D%/embed.awk
CLEANFILES += %D%/embedded.c
%D%/embedded.c: $(report_page) %D%/embed.awk
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AWK) -f $(srcdir)/%D%/embed.awk \
	    $(report_page:%=$(srcdir)/%) >$@.tmp && mv $@.tmp $@
