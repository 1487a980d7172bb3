/* Elements whose value is a number of Go's table, and functions whose context is one. */
#ifndef SLUICEGATE_GO_FLOW_SHIM_H
#define SLUICEGATE_GO_FLOW_SHIM_H

#include <stdlib.h>

#include "sluicegate.h"

extern int32_t sluicegateFlowCall(uintptr_t fn, uintptr_t a, uintptr_t b, uintptr_t *out, sluice_error **err);
extern int32_t sluicegateFlowList(uintptr_t fn, sluice_elements *list, uintptr_t *out, sluice_error **err);
extern int32_t sluicegateFlowTest(uintptr_t fn, uintptr_t value, bool *out, sluice_error **err);
extern int32_t sluicegateFlowMany(uintptr_t fn, uintptr_t value, sluice_elements *list, sluice_error **err);
extern int32_t sluicegateFlowChoose(uintptr_t fn, uintptr_t value, size_t *out, sluice_error **err);
extern int32_t sluicegateFlowFetch(uintptr_t fn, uint64_t from, uint64_t n, sluice_elements *list, sluice_error **err);
extern int32_t sluicegateFlowFromItem(uintptr_t fn, sluice_item *item, uintptr_t *out, uint64_t *bytes,
                                      sluice_error **err);
extern int32_t sluicegateFlowToItem(uintptr_t fn, uintptr_t value, sluice_item **out, sluice_error **err);
extern int32_t sluicegateFlowSized(uintptr_t fn, uintptr_t value, uintptr_t *out, uint64_t *bytes,
                                   sluice_error **err);
extern int32_t sluicegateFlowSift(uintptr_t fn, uintptr_t value, uintptr_t *out, bool *some, sluice_error **err);
extern int32_t sluicegateFlowLoop(uintptr_t fn, uintptr_t value, uintptr_t *out, bool *again, sluice_error **err);
extern int32_t sluicegateFlowRecover(uintptr_t fn, sluice_error *failure, uintptr_t *out, bool *some,
                                     sluice_error **err);
extern int32_t sluicegateFlowPage(uintptr_t fn, uintptr_t cursor, sluice_elements *rows, uintptr_t *next, bool *more,
                                  sluice_error **err);
extern void sluicegateFlowDrop(uintptr_t value);

static inline void sluicegate_drop(void *value) { sluicegateFlowDrop((uintptr_t)value); }

static inline sluice_element sluicegate_element(uintptr_t value, uint64_t bytes) {
	sluice_element element = { (void *)value, sluicegate_drop, bytes };
	return element;
}

static inline int32_t sluicegate_made(int32_t status, uintptr_t made, sluice_element *out) {
	if (status == SLUICE_OK) {
		*out = sluicegate_element(made, 0);
	}
	return status;
}

static inline int32_t sluicegate_call_map(void *fn, void *value, sluice_element *out, sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowCall((uintptr_t)fn, (uintptr_t)value, 0, &made, err);
	return sluicegate_made(status, made, out);
}

static inline int32_t sluicegate_call_list(void *fn, void *list, sluice_element *out, sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowList((uintptr_t)fn, (sluice_elements *)list, &made, err);
	return sluicegate_made(status, made, out);
}

static inline int32_t sluicegate_call_fold(void *fn, void *state, void *value, sluice_element *out,
                                           sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowCall((uintptr_t)fn, (uintptr_t)state, (uintptr_t)value, &made, err);
	return sluicegate_made(status, made, out);
}

static inline int32_t sluicegate_call_pull(void *fn, sluice_element *out, sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowCall((uintptr_t)fn, 0, 0, &made, err);
	return sluicegate_made(status, made, out);
}

static inline int32_t sluicegate_call_open(void *fn, sluice_puller *out, sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowCall((uintptr_t)fn, 0, 0, &made, err);
	if (status == SLUICE_OK) {
		out->ctx = (void *)made;
		out->call = sluicegate_call_pull;
		out->release = sluicegate_drop;
	}
	return status;
}

static inline int32_t sluicegate_call_test(void *fn, void *value, bool *out, sluice_error **err) {
	return sluicegateFlowTest((uintptr_t)fn, (uintptr_t)value, out, err);
}

static inline int32_t sluicegate_call_look(void *fn, void *value, sluice_error **err) {
	bool nobody_asks = false;
	return sluicegateFlowTest((uintptr_t)fn, (uintptr_t)value, &nobody_asks, err);
}

static inline int32_t sluicegate_call_expand(void *fn, void *value, const sluice_elements *list,
                                             sluice_error **err) {
	return sluicegateFlowMany((uintptr_t)fn, (uintptr_t)value, (sluice_elements *)list, err);
}

static inline int32_t sluicegate_call_choose(void *fn, void *value, size_t *out, sluice_error **err) {
	return sluicegateFlowChoose((uintptr_t)fn, (uintptr_t)value, out, err);
}

static inline int32_t sluicegate_call_fetch(void *fn, uint64_t from, uint64_t n, const sluice_elements *list,
                                            sluice_error **err) {
	return sluicegateFlowFetch((uintptr_t)fn, from, n, (sluice_elements *)list, err);
}

static inline sluice_chooser sluicegate_chooser(uintptr_t fn) {
	sluice_chooser chooser = { (void *)fn, sluicegate_call_choose, sluicegate_drop };
	return chooser;
}

static inline sluice_fetcher sluicegate_fetcher(uintptr_t fn) {
	sluice_fetcher fetcher = { (void *)fn, sluicegate_call_fetch, sluicegate_drop };
	return fetcher;
}

static inline sluice_mapper sluicegate_mapper(uintptr_t fn) {
	sluice_mapper mapper = { (void *)fn, sluicegate_call_map, sluicegate_drop };
	return mapper;
}

static inline sluice_mapper sluicegate_list_mapper(uintptr_t fn) {
	sluice_mapper mapper = { (void *)fn, sluicegate_call_list, sluicegate_drop };
	return mapper;
}

static inline sluice_predicate sluicegate_predicate(uintptr_t fn) {
	sluice_predicate predicate = { (void *)fn, sluicegate_call_test, sluicegate_drop };
	return predicate;
}

static inline sluice_observer sluicegate_observer(uintptr_t fn) {
	sluice_observer observer = { (void *)fn, sluicegate_call_look, sluicegate_drop };
	return observer;
}

static inline sluice_folder sluicegate_folder(uintptr_t fn) {
	sluice_folder folder = { (void *)fn, sluicegate_call_fold, sluicegate_drop };
	return folder;
}

static inline sluice_expander sluicegate_expander(uintptr_t fn) {
	sluice_expander expander = { (void *)fn, sluicegate_call_expand, sluicegate_drop };
	return expander;
}

static inline sluice_opener sluicegate_opener(uintptr_t fn) {
	sluice_opener opener = { (void *)fn, sluicegate_call_open, sluicegate_drop };
	return opener;
}

/* The value of an element of a wire or a feed is an item, borrowed. */
static inline int32_t sluicegate_call_from_item(void *fn, void *value, sluice_element *out, sluice_error **err) {
	uintptr_t made = 0;
	uint64_t bytes = 0;
	int32_t status = sluicegateFlowFromItem((uintptr_t)fn, (sluice_item *)value, &made, &bytes, err);
	if (status == SLUICE_OK) {
		*out = sluicegate_element(made, bytes);
	}
	return status;
}

static inline int32_t sluicegate_call_sized(void *fn, void *value, sluice_element *out, sluice_error **err) {
	uintptr_t made = 0;
	uint64_t bytes = 0;
	int32_t status = sluicegateFlowSized((uintptr_t)fn, (uintptr_t)value, &made, &bytes, err);
	if (status == SLUICE_OK) {
		*out = sluicegate_element(made, bytes);
	}
	return status;
}

static inline int32_t sluicegate_call_to_item(void *fn, void *value, sluice_element *out, sluice_error **err) {
	sluice_item *item = NULL;
	int32_t status = sluicegateFlowToItem((uintptr_t)fn, (uintptr_t)value, &item, err);
	if (status != SLUICE_OK) {
		return status;
	}
	status = sluice_item_element(item, out);
	if (status != SLUICE_OK) {
		sluice_item_release(item);
	}
	return status;
}

static inline int32_t sluicegate_call_sift(void *fn, void *value, sluice_element *out, bool *some,
                                           sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowSift((uintptr_t)fn, (uintptr_t)value, &made, some, err);
	return *some ? sluicegate_made(status, made, out) : status;
}

static inline int32_t sluicegate_call_loop(void *fn, void *value, sluice_element *out, bool *again,
                                           sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowLoop((uintptr_t)fn, (uintptr_t)value, &made, again, err);
	return sluicegate_made(status, made, out);
}

static inline int32_t sluicegate_call_recover(void *fn, const sluice_error *failure, sluice_element *out, bool *some,
                                              sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowRecover((uintptr_t)fn, (sluice_error *)failure, &made, some, err);
	return *some ? sluicegate_made(status, made, out) : status;
}

static inline int32_t sluicegate_call_page(void *fn, void *cursor, const sluice_elements *rows, sluice_element *next,
                                           bool *more, sluice_error **err) {
	uintptr_t made = 0;
	int32_t status = sluicegateFlowPage((uintptr_t)fn, (uintptr_t)cursor, (sluice_elements *)rows, &made, more, err);
	return *more ? sluicegate_made(status, made, next) : status;
}

static inline sluice_mapper sluicegate_from_item(uintptr_t fn) {
	sluice_mapper mapper = { (void *)fn, sluicegate_call_from_item, sluicegate_drop };
	return mapper;
}

static inline sluice_mapper sluicegate_to_item(uintptr_t fn) {
	sluice_mapper mapper = { (void *)fn, sluicegate_call_to_item, sluicegate_drop };
	return mapper;
}

static inline sluice_mapper sluicegate_sizer(uintptr_t fn) {
	sluice_mapper mapper = { (void *)fn, sluicegate_call_sized, sluicegate_drop };
	return mapper;
}

static inline sluice_sifter sluicegate_sifter(uintptr_t fn) {
	sluice_sifter sifter = { (void *)fn, sluicegate_call_sift, sluicegate_drop };
	return sifter;
}

static inline sluice_looper sluicegate_looper(uintptr_t fn) {
	sluice_looper looper = { (void *)fn, sluicegate_call_loop, sluicegate_drop };
	return looper;
}

static inline sluice_recoverer sluicegate_recoverer(uintptr_t fn) {
	sluice_recoverer recoverer = { (void *)fn, sluicegate_call_recover, sluicegate_drop };
	return recoverer;
}

static inline sluice_pager sluicegate_pager(uintptr_t fn) {
	sluice_pager pager = { (void *)fn, sluicegate_call_page, sluicegate_drop };
	return pager;
}

static inline sluice_listener_info sluicegate_listener_info_init(void) {
	sluice_listener_info info = SLUICE_LISTENER_INFO_INIT;
	return info;
}

static inline sluice_edge_options sluicegate_edge(uint64_t capacity, uint64_t bytes, int32_t overflow) {
	sluice_edge_options options = SLUICE_EDGE_OPTIONS_INIT;
	if (capacity != 0) {
		options.capacity = capacity;
	}
	if (bytes != 0) {
		options.bytes = bytes;
	}
	options.overflow = overflow;
	return options;
}

static inline sluice_stage_info sluicegate_stage_info_init(void) {
	sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
	return info;
}

#endif
