# engine/text: layer 2. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/text_NAME
#          tests_unit_text_NAME_LDADD = $(TEXT_LIBS)
noinst_LTLIBRARIES += libtext.la
libtext_la_SOURCES =
libtext_la_LIBADD = $(PCRE2_LIBS) $(UTF8PROC_LIBS) $(JANSSON_LIBS)
