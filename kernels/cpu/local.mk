# kernels/cpu: the reference. Add to libkernels_a_SOURCES, to
# kernel_isa_sources, kernel_apart_sources or to one of a type (see
# kernels/local.mk).
libkernels_a_SOURCES += \
	kernels/op.def kernels/gelu.def kernels/attention.h kernels/kernels.h kernels/real.h kernels/shards.h \
	%D%/expr.c %D%/expr_cross.c %D%/expr_frame.h %D%/expr_loops.h \
	%D%/expr_step.c \
	%D%/ahead.c %D%/ahead.h \
	%D%/run.c %D%/run.h \
	%D%/select.c %D%/select.h

kernel_apart_sources += \
	%D%/attention.c \
	%D%/attention_grad.c \
	%D%/dropout.c \
	%D%/layernorm.c \
	%D%/norm.c \
	%D%/optim.c
kernel_isa_sources += \
	%D%/cut.h \
	%D%/micro.h \
	%D%/parts.h \
	%D%/dense.c \
	%D%/head.c %D%/head.h %D%/heads.h \
	%D%/instance.c \
	%D%/activations.h %D%/ops.h \
	%D%/panel.h \
	%D%/rows.c \
	%D%/sample.c \
	%D%/simd.h
kernel_f32_sources += %D%/expr_loops.c %D%/pack.c %D%/product.c
kernel_bf16_sources += %D%/pack_bf16.c %D%/pairs.h %D%/product_bf16.c

check_PROGRAMS += \
	tests/unit/kernels_ahead \
	tests/unit/kernels_attention tests/unit/kernels_prefix \
	tests/unit/kernels_dense \
	tests/unit/kernels_expr \
	tests/unit/kernels_expr_grad \
	tests/unit/kernels_expr_loops \
	tests/unit/kernels_expr_parts \
	tests/unit/kernels_head \
	tests/unit/kernels_pairs \
	tests/unit/kernels_sample \
	tests/unit/kernels_product \
	tests/unit/kernels_rows \
	tests/unit/kernels_table \
	tests/unit/kernels_weights
tests_unit_kernels_prefix_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_prefix_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_ahead_LDADD = $(KERNELS_LIBS)
tests_unit_kernels_attention_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_attention_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_dense_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_dense_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_expr_SOURCES = tests/unit/kernels_expr.c \
	tests/unit/kernels_expr.h
tests_unit_kernels_expr_LDADD = $(KERNELS_LIBS) -lm
tests_unit_kernels_expr_grad_LDADD = $(KERNELS_LIBS) -lm
tests_unit_kernels_expr_loops_LDADD = $(KERNELS_LIBS) -lm
tests_unit_kernels_expr_parts_LDADD = $(KERNELS_LIBS) -lm
tests_unit_kernels_head_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_head_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_pairs_LDADD = $(KERNELS_LIBS) -lm
tests_unit_kernels_sample_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_sample_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_product_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_product_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_rows_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_rows_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_table_LDADD = $(KERNELS_LIBS)
tests_unit_kernels_weights_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_weights_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
