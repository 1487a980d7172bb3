/* What Go cannot say by itself: initialisers that are macros, and a waker whose context is a number. */
#ifndef SLUICEGATE_GO_SHIM_H
#define SLUICEGATE_GO_SHIM_H

#include "sluicegate.h"

extern void sluicegateRing(uintptr_t bell);

static inline void sluicegate_ring(void *ctx) { sluicegateRing((uintptr_t)ctx); }

static inline sluice_status sluicegate_op_poll(const sluice_op *op, uintptr_t bell, sluice_error **err) {
	sluice_waker waker = { (void *)bell, sluicegate_ring, NULL };
	return sluice_op_poll(op, &waker, err);
}

static inline sluice_stream_stats sluicegate_stats_init(void) {
	sluice_stream_stats stats = SLUICE_STREAM_STATS_INIT;
	return stats;
}

static inline sluice_status sluicegate_output_start(const sluice_output *output, bool sequence, bool unbounded,
                                                    const uint8_t *meta, size_t meta_len, sluice_error **err) {
	sluice_start_options options = SLUICE_START_OPTIONS_INIT;
	options.sequence = sequence;
	options.unbounded = unbounded;
	options.meta = meta;
	options.meta_len = meta_len;
	return sluice_output_start(output, &options, err);
}

static inline sluice_feed_options sluicegate_feed_options(uint64_t capacity, bool fail) {
	sluice_feed_options options = SLUICE_FEED_OPTIONS_INIT;
	options.capacity = capacity;
	options.fail_on_overrun = fail;
	return options;
}

/* The format is a pointer of Go, which an options struct of Go must not hold. */
static inline sluice_status sluicegate_feed_new(sluice_feed_options options, const uint8_t *format, size_t len,
                                                sluice_feed **out, sluice_error **err) {
	options.format = format;
	options.format_len = len;
	return sluice_feed_new(&options, out, err);
}

static inline sluice_status sluicegate_feed_command(sluice_feed_options options, const uint8_t *format, size_t len,
                                                    const sluice_command *command, size_t item_bytes,
                                                    sluice_feed **out, sluice_error **err) {
	options.format = format;
	options.format_len = len;
	return sluice_feed_command(&options, command, item_bytes, out, err);
}

static inline sluice_status sluicegate_feed_fd(sluice_feed_options options, const uint8_t *format, size_t len, int fd,
                                               size_t item_bytes, uint64_t interval_us, sluice_feed **out,
                                               sluice_error **err) {
	options.format = format;
	options.format_len = len;
	return sluice_feed_fd(&options, fd, item_bytes, interval_us, out, err);
}

static inline sluice_feed_stats_t sluicegate_feed_stats_init(void) {
	sluice_feed_stats_t stats = SLUICE_FEED_STATS_INIT;
	return stats;
}

static inline sluice_limits sluicegate_limits_init(void) {
	sluice_limits limits = SLUICE_LIMITS_INIT;
	return limits;
}

static inline sluice_engine_options sluicegate_engine_options_init(void) {
	sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
	return options;
}

static inline sluice_switch_options sluicegate_switch_options_init(void) {
	sluice_switch_options options = SLUICE_SWITCH_OPTIONS_INIT;
	return options;
}

extern bool sluicegateServes(uintptr_t matcher, char *offered, size_t offered_len, char *asked, size_t asked_len);
extern void sluicegateLetGo(uintptr_t matcher);

static inline bool sluicegate_serves(void *ctx, const char *offered, size_t offered_len, const char *asked,
                                     size_t asked_len) {
	return sluicegateServes((uintptr_t)ctx, (char *)offered, offered_len, (char *)asked, asked_len);
}

static inline void sluicegate_let_go(void *ctx) { sluicegateLetGo((uintptr_t)ctx); }

static inline sluice_status sluicegate_switch_new(sluice_switch_options options, uintptr_t serves,
                                                  sluice_switch **out, sluice_error **err) {
	sluice_matcher matcher = { (void *)serves, sluicegate_serves, sluicegate_let_go };
	if (serves != 0) {
		options.matcher = &matcher;
	}
	return sluice_switch_new(&options, out, err);
}

/* The engine's options are a pointer of Go, which an options struct of Go must not hold. */
static inline sluice_status sluicegate_host_new(sluice_engine_options engine, int64_t idle_ms, sluice_host **out,
                                                sluice_error **err) {
	sluice_host_options options = SLUICE_HOST_OPTIONS_INIT;
	options.engine = &engine;
	options.idle_ms = idle_ms;
	return sluice_host_new(&options, out, err);
}

#endif
