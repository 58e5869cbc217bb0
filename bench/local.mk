# bench: measurements, built by `make bench`, never by `make`. Add a program as
# EXTRA_PROGRAMS += %D%/NAME and list it in bench_programs.
bench_programs =
bench: $(bench_programs)
CLEANFILES += $(bench_programs)

bench_programs += %D%/ops
EXTRA_PROGRAMS += %D%/ops
%C%_ops_LDADD = $(KERNELS_LIBS)

bench_programs += %D%/comm
EXTRA_PROGRAMS += %D%/comm
%C%_comm_LDADD = $(TRANSPORT_LIBS) $(COMM_LIBS)

bench_programs += %D%/dispatch
EXTRA_PROGRAMS += %D%/dispatch
%C%_dispatch_LDADD = $(API_LIBS)

bench_programs += %D%/candidates
EXTRA_PROGRAMS += %D%/candidates
%C%_candidates_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'
%C%_candidates_LDADD = $(API_LIBS)

bench_programs += %D%/realloc
EXTRA_PROGRAMS += %D%/realloc
%C%_realloc_LDADD = $(EMULATED_DEVICE_LIBS) libnodes.a $(PLAN_LIBS) -lm

bench_programs += %D%/longtail
EXTRA_PROGRAMS += %D%/longtail
EXTRA_DIST += %D%/matmul.h %D%/measure.h %D%/llama_shapes.h %D%/longtail.rlf %D%/ahead.rlf %D%/fused %D%/fused.rlf
%C%_longtail_SOURCES = %D%/longtail.c %D%/lengths.c %D%/lengths.h
%C%_longtail_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'
%C%_longtail_LDADD = $(API_LIBS)

bench_programs += %D%/ahead
EXTRA_PROGRAMS += %D%/ahead
%C%_ahead_SOURCES = %D%/ahead.c %D%/lengths.c %D%/lengths.h
%C%_ahead_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'
%C%_ahead_LDADD = $(API_LIBS)

bench_programs += %D%/pipe
EXTRA_PROGRAMS += %D%/pipe
%C%_pipe_LDADD = $(API_LIBS)

bench_programs += %D%/load
EXTRA_PROGRAMS += %D%/load
%C%_load_LDADD = $(IO_LIBS)

bench_programs += %D%/frozen
EXTRA_PROGRAMS += %D%/frozen
%C%_frozen_LDADD = $(NODES_LIBS)

bench_programs += %D%/parts
EXTRA_PROGRAMS += %D%/parts
EXTRA_DIST += %D%/parts_grpo.rlf %D%/parts_ppo.rlf
%C%_parts_SOURCES = %D%/parts.c %D%/peaks.c %D%/peaks.h
%C%_parts_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'
%C%_parts_LDADD = $(API_LIBS) $(peaks_libs)
if HAVE_ONEDNN
peaks_libs = -ldnnl -lgomp
bench_programs += %D%/product
EXTRA_PROGRAMS += %D%/product
%C%_product_CFLAGS = $(AM_CFLAGS) -fopenmp -Wno-conversion \
	-Wno-double-promotion
%C%_product_LDADD = $(KERNELS_LIBS) -ldnnl -lm
bench_programs += %D%/product_bf16
EXTRA_PROGRAMS += %D%/product_bf16
%C%_product_bf16_CFLAGS = $(AM_CFLAGS) -fopenmp -Wno-conversion \
	-Wno-double-promotion
%C%_product_bf16_LDADD = $(KERNELS_LIBS) -ldnnl -lm
endif
bench_programs += %D%/model
EXTRA_PROGRAMS += %D%/model
%C%_model_SOURCES = %D%/model.c %D%/peaks.c %D%/peaks.h
%C%_model_LDADD = $(NODES_LIBS) $(peaks_libs)

bench_programs += %D%/history
EXTRA_PROGRAMS += %D%/history
%C%_history_LDADD = $(NODES_LIBS)
bench_programs += %D%/prefix
EXTRA_PROGRAMS += %D%/prefix
%C%_prefix_LDADD = $(NODES_LIBS)

# On a GPU; `tiny` runs without one.
EXTRA_DIST += %D%/gpu/all %D%/gpu/attention.py %D%/gpu/trl.py %D%/gpu/grpo.rlf %D%/gpu/ppo.rlf \
	%D%/gpu/ones.lua
gpu_limits = %D%/gpu/limits.c %D%/gpu/limits.h
gpu_rig = $(gpu_limits) %D%/gpu/rig.c %D%/gpu/rig.h
GPU_BENCH_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
GPU_BENCH_LDADD = $(EMULATED_DEVICE_LIBS) $(KERNELS_LIBS) -lm

bench_programs += %D%/gpu/attention
EXTRA_PROGRAMS += %D%/gpu/attention
%C%_gpu_attention_SOURCES = %D%/gpu/attention.c $(gpu_rig)
%C%_gpu_attention_CPPFLAGS = $(GPU_BENCH_CPPFLAGS)
%C%_gpu_attention_LDADD = $(GPU_BENCH_LDADD)

bench_programs += %D%/gpu/kernels
EXTRA_PROGRAMS += %D%/gpu/kernels
%C%_gpu_kernels_SOURCES = %D%/gpu/kernels.c $(gpu_rig)
%C%_gpu_kernels_CPPFLAGS = $(GPU_BENCH_CPPFLAGS)
%C%_gpu_kernels_LDADD = $(GPU_BENCH_LDADD)

bench_programs += %D%/gpu/products
EXTRA_PROGRAMS += %D%/gpu/products
%C%_gpu_products_SOURCES = %D%/gpu/products.c $(gpu_rig)
%C%_gpu_products_CPPFLAGS = $(GPU_BENCH_CPPFLAGS)
%C%_gpu_products_LDADD = $(GPU_BENCH_LDADD)

bench_programs += %D%/gpu/model
EXTRA_PROGRAMS += %D%/gpu/model
%C%_gpu_model_SOURCES = %D%/gpu/model.c $(gpu_rig)
%C%_gpu_model_CPPFLAGS = $(GPU_BENCH_CPPFLAGS)
%C%_gpu_model_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS) -lm

EXTRA_DIST += %D%/adapters.py %D%/busy %D%/lanes %D%/memory %D%/overhead %D%/report %D%/trl %D%/RESULTS.md

bench_programs += %D%/search
EXTRA_PROGRAMS += %D%/search
%C%_search_SOURCES = %D%/search.c tests/ppo_problem.h
%C%_search_LDADD = $(SEARCH_LIBS)

bench_programs += %D%/papers
EXTRA_PROGRAMS += %D%/papers
%C%_papers_SOURCES = %D%/papers.c %D%/papers.h %D%/papers_scale.c %D%/papers_real.c \
	%D%/papers_hybridflow.c %D%/papers_threshold.c %D%/papers_checks.c \
	$(papers_sources) tests/fused.h tests/zero_bubble.h
%C%_papers_LDADD = $(API_LIBS)

bench_programs += %D%/reality
EXTRA_PROGRAMS += %D%/reality
EXTRA_DIST += %D%/reality_ppo.rlf %D%/reality_grpo.rlf
%C%_reality_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'
%C%_reality_LDADD = $(API_LIBS)

bench_programs += %D%/rows
EXTRA_PROGRAMS += %D%/rows
%C%_rows_LDADD = $(IO_LIBS)

bench_programs += %D%/parquet
EXTRA_PROGRAMS += %D%/parquet
EXTRA_DIST += %D%/parquet_pyarrow
%C%_parquet_LDADD = $(IO_LIBS)

bench_programs += %D%/tokenize
EXTRA_PROGRAMS += %D%/tokenize
EXTRA_DIST += %D%/tokenize_hf
%C%_tokenize_LDADD = $(TEXT_LIBS) $(DEV_LIBS)
