# man: the pages, mdoc. dist_man_MANS += %D%/NAME.1
dist_man_MANS += %D%/rlflow.1
dist_man_MANS += %D%/rlf.5
dist_man_MANS += %D%/rlflow-lua.7

# That of the library is made of its files, that of the protocol of its table.
man_MANS = %D%/rlflow-std.7 %D%/rlflow-protocol.7
std_files = $(top_srcdir)/stdlib/advantage.rlf $(top_srcdir)/stdlib/loss.rlf \
	$(top_srcdir)/stdlib/reward.rlf
EXTRA_DIST += %D%/std.awk %D%/protocol.awk
CLEANFILES += %D%/rlflow-std.7 %D%/rlflow-protocol.7
%D%/rlflow-std.7: $(srcdir)/%D%/std.awk $(std_files)
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AWK) -f $(srcdir)/%D%/std.awk $(std_files) \
	    >$@.tmp && mv $@.tmp $@
protocol = $(top_srcdir)/engine/order/protocol.def
%D%/rlflow-protocol.7: $(srcdir)/%D%/protocol.awk $(protocol)
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	    $(AWK) -f $(srcdir)/%D%/protocol.awk $(protocol) >$@.tmp && mv $@.tmp $@
