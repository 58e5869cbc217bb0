# kernels: layer 2. Kinds of source:
#
# libkernels_a_SOURCES    compiled once: the operation table, choosing the
#                         instruction set, whatever needs no vectors.
# kernel_isa_sources      compiled once per instruction set, with
#                         -DRLF_ISA=portable | v3 | v4 | v4_bf16 and once more
#                         per type of activations, with -DRLF_TYPE=f32 | bf16
#                         (bare words to paste into names), and the flags of
#                         that set. v4_bf16 is for bf16 alone.
# kernel_apart_sources    the same, but for v4_bf16, which has them from v4:
#                         what makes no products (cpu/ops.h has the names)
# kernel_f32_sources, kernel_bf16_sources   what one type alone has
#
# A test: check_PROGRAMS += tests/unit/kernels_NAME
#         tests_unit_kernels_NAME_LDADD = $(KERNELS_LIBS)
noinst_LIBRARIES += libkernels.a
kernel_isa_sources =
kernel_apart_sources =
kernel_f32_sources =
kernel_bf16_sources =

libkernels_a_SOURCES = %D%/backend.c %D%/backend.h %D%/backends.c \
	%D%/expr.h %D%/expr_dense.c %D%/expr_dense.h \
	%D%/expr_lower.c %D%/expr_plan.c \
	%D%/expr_plan.h
libkernels_a_CFLAGS = $(KERNEL_CFLAGS)
libkernels_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libkernels_a_LIBADD = $(libkernels_portable_a_OBJECTS) \
	$(libkernels_portable_bf16_a_OBJECTS)
libkernels_a_DEPENDENCIES = $(libkernels_a_LIBADD)

KERNEL_F32 = -DRLF_TYPE=f32 -DRLF_REAL=float -DRLF_REAL_BITS=32
KERNEL_BF16 = -DRLF_TYPE=bf16 -DRLF_REAL=rlf_bf16 -DRLF_REAL_BITS=16

EXTRA_LIBRARIES += libkernels_portable.a libkernels_portable_bf16.a
libkernels_portable_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_f32_sources)
libkernels_portable_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=portable $(KERNEL_F32)
libkernels_portable_a_CFLAGS = $(KERNEL_CFLAGS)
libkernels_portable_bf16_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_bf16_sources)
libkernels_portable_bf16_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=portable $(KERNEL_BF16)
libkernels_portable_bf16_a_CFLAGS = $(KERNEL_CFLAGS)

if ISA_V3
EXTRA_LIBRARIES += libkernels_v3.a libkernels_v3_bf16.a
libkernels_v3_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_f32_sources)
libkernels_v3_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v3 $(KERNEL_F32)
libkernels_v3_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v3
libkernels_v3_bf16_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_bf16_sources)
libkernels_v3_bf16_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v3 $(KERNEL_BF16)
libkernels_v3_bf16_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v3
libkernels_a_LIBADD += $(libkernels_v3_a_OBJECTS) \
	$(libkernels_v3_bf16_a_OBJECTS)
endif

if ISA_V4
EXTRA_LIBRARIES += libkernels_v4.a libkernels_v4_bf16.a
libkernels_v4_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_f32_sources)
libkernels_v4_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v4 $(KERNEL_F32)
libkernels_v4_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v4 \
	-mprefer-vector-width=512
libkernels_v4_bf16_a_SOURCES = $(kernel_isa_sources) \
	$(kernel_apart_sources) $(kernel_bf16_sources)
libkernels_v4_bf16_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v4 $(KERNEL_BF16)
libkernels_v4_bf16_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v4 \
	-mprefer-vector-width=512
libkernels_a_LIBADD += $(libkernels_v4_a_OBJECTS) \
	$(libkernels_v4_bf16_a_OBJECTS)
endif

# v4 with the instruction that adds products of pairs
if ISA_V4_BF16
EXTRA_LIBRARIES += libkernels_v4_bf16_bf16.a
libkernels_v4_bf16_bf16_a_SOURCES = $(kernel_isa_sources) $(kernel_bf16_sources)
libkernels_v4_bf16_bf16_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_ISA=v4_bf16 $(KERNEL_BF16)
libkernels_v4_bf16_bf16_a_CFLAGS = $(KERNEL_CFLAGS) -march=x86-64-v4 \
	-mprefer-vector-width=512 $(BF16_CFLAGS)
libkernels_a_LIBADD += $(libkernels_v4_bf16_bf16_a_OBJECTS)
endif
