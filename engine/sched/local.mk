# engine/sched: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/sched_NAME
#          tests_unit_sched_NAME_LDADD = $(SCHED_LIBS)
noinst_LTLIBRARIES += libsched.la
libsched_la_SOURCES =
