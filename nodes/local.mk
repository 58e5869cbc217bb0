# nodes: layer 4, one file per node class. A test:
# check_PROGRAMS += tests/unit/nodes_NAME
# tests_unit_nodes_NAME_LDADD = $(NODES_LIBS)
noinst_LIBRARIES += libnodes.a
libnodes_a_SOURCES = \
	%D%/ask.c \
	%D%/assign.c \
	%D%/break.c \
	%D%/chat.c %D%/chat.h \
	%D%/checkpoint.c \
	%D%/collect.c \
	%D%/conversations.c %D%/conversations.h \
	%D%/converse.c \
	%D%/cursor.c \
	%D%/data.c %D%/data.h %D%/data_declare.c %D%/data_declare.h \
	%D%/model_declare.c %D%/model_declare.h \
	%D%/draw.c \
	%D%/drop.c %D%/walk.c %D%/walk.h \
	%D%/every.c \
	%D%/expr.c \
	%D%/field.c \
	%D%/for.c \
	%D%/generate.c \
	%D%/hook.c %D%/hook.h %D%/hook_compare.c %D%/hook_resource.c %D%/hook_trace.c \
	%D%/if.c \
	%D%/keep.c \
	%D%/lanes.c %D%/lanes.h \
	%D%/logprob.c \
	%D%/logprobs.c \
	%D%/model.c %D%/model.h %D%/model_memory.c \
	%D%/model_copies.c %D%/model_copies.h \
	%D%/node.def \
	%D%/nonfinite.c %D%/nonfinite.h \
	%D%/operations.c %D%/operations.h \
	%D%/traced.c %D%/traced.h %D%/draws.c %D%/draws.h \
	%D%/part.c \
	%D%/prompts.c \
	%D%/reads.c %D%/reads.h \
	%D%/report.c \
	%D%/resource.def \
	%D%/respond.c \
	%D%/responses.c %D%/responses.h \
	%D%/rows.c %D%/rows.h \
	%D%/sequences.c %D%/sequences.h \
	%D%/state.c %D%/state.h \
	%D%/state_rows.c \
	%D%/step.c \
	%D%/table.c %D%/table.h \
	%D%/turns.c %D%/turns.h \
	%D%/update.c %D%/update.h %D%/update_cost.c %D%/update_loss.c \
	%D%/update_micro.c %D%/update_point.c %D%/update_trace.c \
	%D%/view.c \
	%D%/where.c \
	%D%/within.c \
	%D%/vocab.c %D%/vocab.h

check_PROGRAMS += tests/unit/nodes_classes
tests_unit_nodes_classes_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_draw
tests_unit_nodes_draw_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_data
tests_unit_nodes_data_LDADD = $(NODES_LIBS)
EXTRA_DIST += tests/unit/nodes.h
check_PROGRAMS += tests/unit/nodes_sets
tests_unit_nodes_sets_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_hook
tests_unit_nodes_hook_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_control
tests_unit_nodes_control_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_expr
tests_unit_nodes_expr_LDADD = $(NODES_LIBS)
check_PROGRAMS += tests/unit/nodes_chat
tests_unit_nodes_chat_LDADD = $(NODES_LIBS)
EXTRA_DIST += tests/data/chat_ids.json tests/oracle/chat_ids.py
EXTRA_DIST += tests/data/chat_tools.json tests/oracle/chat_tools.py
check_PROGRAMS += tests/unit/nodes_tokenizers
tests_unit_nodes_tokenizers_LDADD = $(NODES_LIBS)
EXTRA_DIST += tests/data/tokenizer_classes.json \
	tests/oracle/tokenizer_classes.py
check_PROGRAMS += tests/unit/nodes_turns
tests_unit_nodes_turns_LDADD = $(NODES_LIBS)
tap_tests += tests/converse.tap
EXTRA_DIST += tests/data/chat_masks.json tests/oracle/chat_masks.py
check_PROGRAMS += tests/unit/nodes_train
tests_unit_nodes_train_LDADD = $(NODES_LIBS)
