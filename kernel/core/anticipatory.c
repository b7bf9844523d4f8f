// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * anticipatory: serves reads and writes in alternating batches and one-way order, and waits up to
 * antic_expire for the next request of the process served last, unless its mean think time is
 * longer. See antic.c.
 */
#include "antic.h"

static bool is_on(const struct antic *antic)
{
	return antic->antic_expire > 0;
}

static struct antic_period period(struct antic *antic, struct core_process *process)
{
	(void)process;
	return (struct antic_period){ .amount = antic->antic_expire };
}

static bool refuses(struct antic *antic, struct antic_moment now, enum antic_phase phase)
{
	(void)now;
	(void)phase;
	return antic_thinks_too_long(antic);
}

static bool mean_seek_is_close(const struct antic *antic)
{
	(void)antic;
	return true;
}

static const struct antic_rule rule = {
	.is_on = is_on,
	.period = period,
	.refuses = refuses,
	.period_is_current = true,
	.mean_seek_is_close = mean_seek_is_close,
};

static const struct core_tunable tunables[] = { ANTIC_TUNABLE_ROWS };

static size_t state_size(u32 tags)
{
	return antic_state_size(tags, sizeof(struct antic), sizeof(struct core_process));
}

static void init(void *core, const struct core_config *config)
{
	antic_init(core, config, &rule, sizeof(struct antic), sizeof(struct core_process));
}

const struct core_ops core_anticipatory = {
	.name = "anticipatory",
	.process_size = sizeof(struct core_process),
	.tunables = tunables,
	.nr_tunables = sizeof(tunables) / sizeof(tunables[0]),
	.state_size = state_size,
	.init = init,
	.insert = antic_insert,
	.dispatch = antic_dispatch,
	.complete = antic_complete,
	.held = antic_held,
	.next_timer = antic_next_timer,
	.on_timer = antic_on_timer,
	.may_exceed = antic_may_exceed,
	.front_merge = antic_find_front_merge,
	.allow_merge = antic_allow_merge,
	.merged = antic_merged,
	.coalesced = antic_coalesced,
	.exited = antic_exited,
	.get = antic_get,
	.set = antic_set,
	.anticipation = antic_anticipation,
};
