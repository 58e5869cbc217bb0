# kernels/cuda: the operations on a GPU, where nvcc is found; and for tests the
# same sources compiled for the host (emulate.h).
#
# cuda_sources       compiled once per type of activations, with -DRLF_TYPE=f32
#                    or bf16 (a bare word to paste into names)
# cuda_f32_sources, cuda_bf16_sources   what one type alone has, or what is
#                    compiled once: instance.cu names it
# cuda_group_sources of bf16, for the GPUs that have warp groups (sm_90a) alone
cuda_sources = \
	%D%/dropout.cu \
	%D%/head.cu \
	%D%/instance.cu \
	%D%/layernorm.cu \
	%D%/norm.cu \
	%D%/optim.cu \
	%D%/rotary.cu \
	%D%/rows.cu \
	%D%/sample.cu
cuda_f32_sources = %D%/attention.cu %D%/attention_grad.cu %D%/dense.cu %D%/product.cu
cuda_bf16_sources = %D%/attention_mma.cu %D%/attention_mma_grad.cu %D%/attention_probe.cu %D%/norm_grad.cu %D%/product_mma.cu
cuda_group_sources = %D%/product_wgmma.cu
cuda_headers = \
	engine/base/fmath.h engine/base/half.h engine/base/inline.h \
	engine/dev/cuda.h engine/dev/dev.h engine/expr/expr.h engine/expr/op.def engine/expr/pointwise.def \
	kernels/expr_dense.h kernels/gelu.def kernels/head.h kernels/attention.h kernels/kernels.h kernels/real.h kernels/shards.h kernels/op.def kernels/sample.h \
	%D%/add.h %D%/attention.h %D%/attention_mma.h %D%/attention_mma_row.h \
	%D%/attention_tile.h %D%/columns.h %D%/emulate.h %D%/emulate_steps.h %D%/filter.h %D%/head.h %D%/lt.h %D%/measure.h %D%/mma.h \
	%D%/norm_grad.h %D%/ops.h %D%/platform.h \
	%D%/product_mma.h %D%/product_tile.h %D%/product_wgmma.h %D%/algorithms.h %D%/wgmma.h
EXTRA_DIST += $(cuda_sources) $(cuda_f32_sources) $(cuda_bf16_sources) $(cuda_group_sources) %D%/emulate.cc

# No multiply and add is made one that is not written so: the bits are law.
NVCC_RULES = -std=c++20 --fmad=false
GROUP_FLAGS = -gencode arch=compute_90a,code=sm_90a
F32_FLAGS = -DRLF_TYPE=f32 -DRLF_REAL=float
BF16_FLAGS = -DRLF_TYPE=bf16 -DRLF_REAL=__nv_bfloat16
AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
AM_V_EMULATED = $(AM_V_EMULATED_@AM_V@)
AM_V_EMULATED_ = $(AM_V_EMULATED_@AM_DEFAULT_V@)
AM_V_EMULATED_0 = @echo "  CXX     " $@;

libkernels_a_SOURCES += %D%/algorithms_text.c
if HAVE_CUDA
cuda_objects = $(cuda_sources:.cu=.f32.o) $(cuda_sources:.cu=.bf16.o) \
	$(cuda_f32_sources:.cu=.f32.o) $(cuda_bf16_sources:.cu=.bf16.o) \
	$(cuda_group_sources:.cu=.bf16.o)
$(cuda_objects): $(cuda_headers)
libkernels_a_LIBADD += $(cuda_objects)
libkernels_a_SOURCES += %D%/lt.c %D%/lt.h %D%/algorithms.c
endif

NVCC_COMPILE = $(NVCC) $(NVCC_RULES) $(NVCCFLAGS) $(if $(findstring wgmma,$<),$(GROUP_FLAGS),$(NVCC_FLAGS)) -I$(top_builddir) -I$(top_srcdir) -Xcompiler \
	-fPIC,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-fvisibility=hidden -c $<
%D%/%.f32.o: %D%/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) $(F32_FLAGS) -o $@
%D%/%.bf16.o: %D%/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) $(BF16_FLAGS) -o $@

if HOST_X86_64
EMULATED_FLAGS = -march=x86-64-v3
endif
if HAVE_CXX
emulated_objects = $(cuda_sources:.cu=.f32.eo) $(cuda_sources:.cu=.bf16.eo) \
	$(cuda_f32_sources:.cu=.f32.eo) $(cuda_bf16_sources:.cu=.bf16.eo) \
	$(cuda_group_sources:.cu=.bf16.eo) %D%/emulate.eo
$(emulated_objects): $(cuda_headers)
if TSAN
EMULATED_LIBS = $(emulated_objects) -lstdc++ -lubsan
else
EMULATED_LIBS = $(emulated_objects) -lstdc++
endif
check_LIBRARIES += libemulated.a
libemulated_a_SOURCES = %D%/emulate_device.c %D%/emulate_device.h
EMULATED_DEVICE_LIBS = libemulated.a $(EMULATED_LIBS)
else
EMULATED_LIBS =
EMULATED_DEVICE_LIBS =
endif
CLEANFILES += %D%/*.eo

check_PROGRAMS += tests/unit/kernels_attention_mma tests/unit/kernels_mma tests/unit/kernels_replay
tests_unit_kernels_attention_mma_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_attention_mma_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_mma_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_kernels_mma_LDADD = $(EMULATED_LIBS) $(KERNELS_LIBS) -lm
tests_unit_kernels_replay_LDADD = $(EMULATED_DEVICE_LIBS) $(KERNELS_LIBS) -lm

# ThreadSanitizer knows the threads of a block (emulate.h), not those of emulate.cc
if TSAN
EMULATED_CHECKS = -DRLF_EMULATED_RACES \
	$(if $(findstring emulate.cc,$<),,-fsanitize=thread,alignment,bounds -fno-sanitize-recover=all)
endif
EMULATED_COMPILE = $(CXX) -std=c++20 $(CXXFLAGS) -ffp-contract=off $(EMULATED_FLAGS) $(EMULATED_CHECKS) -Wall -Wextra \
	-Wno-missing-field-initializers $(if $(filter -Werror,$(WARN_CFLAGS)),-Werror=switch) -DRLF_CUDA_EMULATED -I$(top_builddir) -I$(top_srcdir) \
	-x c++ -c $<
%D%/%.f32.eo: %D%/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_EMULATED)$(EMULATED_COMPILE) $(F32_FLAGS) -o $@
%D%/%.bf16.eo: %D%/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_EMULATED)$(EMULATED_COMPILE) $(BF16_FLAGS) -o $@
%D%/emulate.eo: %D%/emulate.cc
	@$(MKDIR_P) $(@D)
	$(AM_V_EMULATED)$(EMULATED_COMPILE) $(F32_FLAGS) -o $@
