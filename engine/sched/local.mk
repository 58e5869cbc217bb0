# engine/sched: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/sched_NAME
#          tests_unit_sched_NAME_LDADD = $(SCHED_LIBS)
noinst_LIBRARIES += libsched.a
libsched_a_SOURCES = \
	%D%/ahead.c \
	%D%/execute.c \
	%D%/checkpoint.c \
	%D%/rank_threads.c %D%/rank_threads.h %D%/budget.c \
	%D%/framing.c %D%/framing.h \
	%D%/exchange.c \
	%D%/flight.c %D%/flight.h \
	%D%/inputs.c %D%/inputs.h \
	%D%/serialize.c %D%/serialize.h \
	%D%/controller.c \
	%D%/manifest.c %D%/manifest.h \
	%D%/measure.c %D%/measure.h \
	%D%/metrics.c %D%/metrics.h \
	%D%/pipeline.c %D%/pipeline.h \
	%D%/algorithms.c \
	%D%/rank.c %D%/rank.h \
	%D%/rescue.c \
	%D%/retention.c %D%/retention.h \
	%D%/registry.c %D%/registry.h \
	%D%/run.c %D%/run.h \
	%D%/sample_trace.c %D%/samples.c \
	%D%/saved.c %D%/saved.h \
	%D%/state.h \
	%D%/step.c \
	%D%/weights.c

check_PROGRAMS += tests/unit/sched_posts tests/unit/sched_serialize
tests_unit_sched_serialize_LDADD = $(SCHED_LIBS)
tests_unit_sched_posts_LDADD = $(SCHED_LIBS)
tests_unit_sched_posts_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=rlf_order_done \
	-Wl,--wrap=rlf_clock_now -Wl,--wrap=rlf_clock_since
