# engine/draw: layer 4. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/draw_NAME
#          tests_unit_draw_NAME_LDADD = $(DRAW_LIBS)
noinst_LIBRARIES += libdraw.a
libdraw_a_SOURCES = \
	%D%/draw.h \
	%D%/fold.c \
	%D%/layers.c \
	%D%/scene.h \
	%D%/svg.c

check_PROGRAMS += tests/unit/draw_scene
tests_unit_draw_scene_LDADD = $(DRAW_LIBS)
