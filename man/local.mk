# man: the pages, mdoc. dist_man_MANS += %D%/NAME.1
dist_man_MANS += %D%/rlflow.1
dist_man_MANS += %D%/rlf.5
dist_man_MANS += %D%/rlflow-lua.7

# That of the language's library is made of its files, that of the protocol of its
# table, that of the C library of its header.
man_MANS = %D%/rlflow-std.7 %D%/rlflow-protocol.7 %D%/librlflow.3
std_files = $(top_srcdir)/stdlib/advantage.rlf $(top_srcdir)/stdlib/loss.rlf \
	$(top_srcdir)/stdlib/reward.rlf
EXTRA_DIST += %D%/std.awk %D%/protocol.awk %D%/librlflow.awk \
	%D%/librlflow.3.in
CLEANFILES += %D%/rlflow-std.7 %D%/rlflow-protocol.7 %D%/librlflow.3
%D%/rlflow-std.7: $(srcdir)/%D%/std.awk $(std_files)
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AWK) -f $(srcdir)/%D%/std.awk $(std_files) \
	    >$@.tmp && mv $@.tmp $@
protocol = $(top_srcdir)/engine/order/protocol.def
%D%/rlflow-protocol.7: $(srcdir)/%D%/protocol.awk $(protocol)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	    $(AWK) -f $(srcdir)/%D%/protocol.awk $(protocol) >$@.tmp && mv $@.tmp $@
library = $(srcdir)/%D%/librlflow.3.in $(top_srcdir)/engine/rlflow.h
%D%/librlflow.3: $(srcdir)/%D%/librlflow.awk $(library)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	    $(AWK) -f $(srcdir)/%D%/librlflow.awk $(library) >$@.tmp && mv $@.tmp $@
