# nodes/model: part of layer 4.
libnodes_a_SOURCES += \
	nodes/model/block.c nodes/model/block.h \
	nodes/model/call.c nodes/model/call.h \
	nodes/model/suballocate.h \
	nodes/model/compile.c nodes/model/compile.h nodes/model/compiler.h \
	nodes/model/allocate.c nodes/model/forward.c nodes/model/backward.c \
	nodes/model/rates.c nodes/model/rates.h nodes/model/row.def \
	nodes/model/cost.c nodes/model/cost.h nodes/model/cost_weights.c \
	nodes/model/counter.h \
	nodes/model/config.c nodes/model/config.h \
	nodes/model/config_keys.c nodes/model/config_keys.h \
	nodes/model/config_layers.c nodes/model/config_layers.h \
	nodes/model/rope.c nodes/model/rope.h \
	nodes/model/sampler.c \
	nodes/model/form.c nodes/model/form.h \
	nodes/model/config_typos.c nodes/model/config_typos.h \
	nodes/model/finite.c nodes/model/finite.h \
	nodes/model/init.c \
	nodes/model/generate.c nodes/model/generate.h nodes/model/generation.h \
	nodes/model/guess.c \
	nodes/model/handover.c nodes/model/handover.h \
	nodes/model/history.c nodes/model/history.h \
	nodes/model/gradient.c nodes/model/gradient.h \
	nodes/model/heads.c nodes/model/heads.h \
	nodes/model/kv.c nodes/model/kv.h \
	nodes/model/merge.c nodes/model/merge.h \
	nodes/model/model.c nodes/model/model.h \
	nodes/model/move.c nodes/model/move.h \
	nodes/model/offload.c nodes/model/offload.h \
	nodes/model/optimizer.c nodes/model/optimizer.h \
	nodes/model/parallel.c nodes/model/parallel.h \
	nodes/model/pack.c \
	nodes/model/pass.c nodes/model/pass.h \
	nodes/model/prefix.c nodes/model/prefix.h \
	nodes/model/program.c nodes/model/program.h \
	nodes/model/adapter.c nodes/model/adapter.h nodes/model/adapter_files.c nodes/model/adapter_files.h \
	nodes/model/families/families.h nodes/model/families/family.def \
	nodes/model/families/cohere.c \
	nodes/model/families/falcon.c \
	nodes/model/families/gemma.c \
	nodes/model/families/glm.c \
	nodes/model/families/gpt2.c \
	nodes/model/families/granite.c \
	nodes/model/families/llama.c \
	nodes/model/families/neox.c \
	nodes/model/families/olmo.c \
	nodes/model/families/olmo2.c \
	nodes/model/families/parts.c \
	nodes/model/families/phi.c \
	nodes/model/families/phi3.c \
	nodes/model/families/qwen.c \
	nodes/model/families/seed.c \
	nodes/model/families/smollm3.c \
	nodes/model/families/stablelm.c \
	nodes/model/families/starcoder2.c \
	nodes/model/slices.c nodes/model/slices.h \
	nodes/model/table.c nodes/model/table.h \
	nodes/model/tables.c nodes/model/tables.h \
	nodes/model/transformer.c nodes/model/transformer.h \
	nodes/model/origin.c nodes/model/origin.h \
	nodes/model/weights.c nodes/model/weights.h \
	nodes/model/buffers.c nodes/model/buffers.h

check_PROGRAMS += tests/unit/model_calls tests/unit/model_config tests/unit/model_cost tests/unit/model_files tests/unit/model_history \
	tests/unit/model_memory tests/unit/model_merge tests/unit/model_move tests/unit/model_parity tests/unit/model_prefix tests/unit/model_programs tests/unit/model_ranks tests/unit/model_recorded \
	tests/unit/model_rope \
	tests/unit/model_sampler \
	tests/unit/model_shards tests/unit/model_stories \
	tests/unit/model_training tests/unit/model_weights
tests_unit_model_calls_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=rlf_parallel_sum,--wrap=rlf_parallel_sum_f32,--wrap=rlf_parallel_sum_copies
tests_unit_model_calls_LDADD = $(NODES_LIBS)
tests_unit_model_cost_LDADD = $(NODES_LIBS)
tests_unit_model_config_LDADD = $(NODES_LIBS)
tests_unit_model_files_LDADD = $(NODES_LIBS)
tests_unit_model_history_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_parity_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_memory_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_merge_LDADD = $(NODES_LIBS)
tests_unit_model_move_LDADD = $(EMULATED_DEVICE_LIBS) libnodes.a $(PLAN_LIBS)
tests_unit_model_prefix_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_programs_LDADD = $(NODES_LIBS)
tests_unit_model_ranks_LDADD = $(NODES_LIBS)
tests_unit_model_recorded_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_rope_LDADD = $(NODES_LIBS)
tests_unit_model_sampler_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_shards_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_stories_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_training_LDADD = $(EMULATED_DEVICE_LIBS) $(NODES_LIBS)
tests_unit_model_weights_LDADD = $(NODES_LIBS)

EXTRA_DIST += tests/unit/counting.h tests/unit/model.h tests/unit/model_calls.h tests/unit/model_files.h tests/unit/model_lora.h tests/data/model_calls.txt tests/unit/model_places.h tests/unit/model_samples.h tests/oracle/transformers_llama.py \
	tests/data/models tests/data/adapters tests/oracle/peft_lora.py tests/data/rope.json tests/oracle/rope.py tests/oracle/families.py
