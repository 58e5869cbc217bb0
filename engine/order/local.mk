# engine/order: layer 5. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/order_NAME
#          tests_unit_order_NAME_LDADD = $(ORDER_LIBS)
noinst_LIBRARIES += liborder.a
liborder_a_SOURCES = \
	%D%/answer.c %D%/answer.h \
	%D%/snapshots.c \
	%D%/choose.c %D%/defer.c %D%/forward.c \
	%D%/control.c %D%/control.h %D%/control_state.h \
	%D%/assign.c \
	%D%/migrate.c \
	%D%/issue.c \
	%D%/move.c \
	%D%/tail.c %D%/tail.h \
	%D%/order.c %D%/order.h \
	%D%/ready.c \
	%D%/part.c %D%/part.h \
	%D%/protocol.c %D%/protocol.def %D%/protocol.h \
	%D%/share.c \
	%D%/traffic.c %D%/traffic.h \
	%D%/state.h

check_PROGRAMS += tests/unit/order_choose tests/unit/order_order tests/unit/order_assign tests/unit/order_tail tests/unit/order_migrate \
	tests/unit/order_rows tests/unit/order_defer tests/unit/order_protocol
tests_unit_order_choose_LDADD = $(ORDER_LIBS)
tests_unit_order_order_LDADD = $(ORDER_LIBS)
tests_unit_order_assign_LDADD = $(ORDER_LIBS)
tests_unit_order_migrate_LDADD = $(ORDER_LIBS)
tests_unit_order_rows_LDADD = $(ORDER_LIBS)
tests_unit_order_defer_LDADD = $(ORDER_LIBS)
tests_unit_order_tail_LDADD = $(ORDER_LIBS)
tests_unit_order_protocol_LDADD = $(ORDER_LIBS)
