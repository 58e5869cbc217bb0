# engine/base: layer 0.
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/arena.c %D%/arena.h \
	%D%/clock.c %D%/clock.h \
	%D%/digest.c %D%/digest.h \
	%D%/fmath.h \
	%D%/mutex.c %D%/mutex.h \
	%D%/half.h \
	%D%/interval.c %D%/interval.h \
	%D%/json.c %D%/json.h \
	%D%/hash.c %D%/hash.h \
	%D%/library.c %D%/library.h \
	%D%/log.c %D%/log.h %D%/log.def \
	%D%/heap.h \
	%D%/map.c %D%/map.h \
	%D%/memory.c %D%/memory.h \
	%D%/regular.c %D%/regular.h \
	%D%/option.c %D%/option.h %D%/option.def \
	%D%/option_help.c %D%/option_table.h \
	%D%/splitmix.h \
	%D%/philox.c %D%/philox.h \
	%D%/source.c %D%/source.h \
	%D%/diag.c %D%/diag.h \
	%D%/status.c %D%/status.h %D%/status.def \
	%D%/str.c %D%/str.h \
	%D%/svg.c %D%/svg.h \
	%D%/trace.c %D%/trace.h \
	%D%/vec.h

check_PROGRAMS += \
	tests/unit/base_arena \
	tests/unit/base_diag \
	tests/unit/base_digest \
	tests/unit/base_fmath \
	tests/unit/base_log \
	tests/unit/base_heap \
	tests/unit/base_interval \
	tests/unit/base_map \
	tests/unit/base_option \
	tests/unit/base_philox \
	tests/unit/base_status \
	tests/unit/base_str
tests_unit_base_arena_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=rlf_malloc_aligned
tests_unit_base_fmath_LDADD = $(BASE_LIBS) -lm
tests_unit_base_interval_LDADD = $(BASE_LIBS) -lm
