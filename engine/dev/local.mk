# engine/dev: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/dev_NAME
#          tests_unit_dev_NAME_LDADD = $(DEV_LIBS)
noinst_LIBRARIES += libdev.a
libdev_a_SOURCES = \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/copy.c %D%/copy.h \
	%D%/cores.c %D%/cores.h \
	%D%/cpu.c %D%/dev.h \
	%D%/cuda.h %D%/cuda_internal.h %D%/cuda_open.c \
	%D%/memory.c %D%/memory.h \
	%D%/replay.c %D%/replay.h \
	%D%/team.c %D%/team.h \
	%D%/futex.c %D%/futex.h
if HAVE_CUDA
libdev_a_SOURCES += %D%/cuda.c %D%/cuda_peer.c %D%/cuda_queue.c %D%/cuda_record.c
endif

libdev_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

check_PROGRAMS += \
	tests/unit/dev_cpu \
	tests/unit/dev_cuda \
	tests/unit/dev_team
tests_unit_dev_cuda_LDADD = $(DEV_LIBS)
tests_unit_dev_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_dev_cpu_LDADD = $(DEV_LIBS)
tests_unit_dev_team_LDADD = $(DEV_LIBS)
