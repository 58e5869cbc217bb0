# kernels: layer 2. Two kinds of source:
#
# libkernels_a_SOURCES    compiled once: the operation table, choosing the
#                         instruction set, whatever needs no vectors.
# kernel_isa_sources      compiled once per instruction set, with
#                         -DRLF_ISA=portable | v3 | v4 (a bare word to paste
#                         into names) and the flags of that set.
#
# A test: check_PROGRAMS += tests/unit/kernels_NAME
#         tests_unit_kernels_NAME_LDADD = $(KERNELS_LIBS)
noinst_LIBRARIES += libkernels.a
EXTRA_LIBRARIES += libkernels_portable.a
kernel_isa_sources =

libkernels_a_SOURCES = %D%/backend.c %D%/backend.h %D%/backends.c \
	%D%/expr.h %D%/expr_dense.c %D%/expr_dense.h \
	%D%/expr_lower.c %D%/expr_plan.c \
	%D%/expr_plan.h
libkernels_a_CFLAGS = $(KERNEL_CFLAGS)
libkernels_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libkernels_a_LIBADD = $(libkernels_portable_a_OBJECTS)
libkernels_a_DEPENDENCIES = $(libkernels_a_LIBADD)

libkernels_portable_a_SOURCES = $(kernel_isa_sources)
libkernels_portable_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=portable -DRLF_REAL=float
libkernels_portable_a_CFLAGS = $(KERNEL_CFLAGS)

if ISA_V3
EXTRA_LIBRARIES += libkernels_v3.a
libkernels_a_LIBADD += $(libkernels_v3_a_OBJECTS)

libkernels_v3_a_SOURCES = $(kernel_isa_sources)
libkernels_v3_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v3 -DRLF_REAL=float
libkernels_v3_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v3
endif

if ISA_V4
EXTRA_LIBRARIES += libkernels_v4.a
libkernels_a_LIBADD += $(libkernels_v4_a_OBJECTS)

libkernels_v4_a_SOURCES = $(kernel_isa_sources)
libkernels_v4_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v4 -DRLF_REAL=float
libkernels_v4_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v4 \
	-mprefer-vector-width=512
endif
