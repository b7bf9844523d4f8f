// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wpcas: the anticipatory scheduler, but it waits as long as a process's most frequent intervals
 * suggest, and only if that shortens the expected service time.
 *
 * Source: the WPCAS paper, based on Linux 2.6.20. Classifier (PC) and service time evaluation (STE)
 * are confirmed in the paper, antic.c in the kernel; the rest is proposed. crates/elevator lists
 * what the paper leaves open. Unlike there, bins are counted on demand, so that a process's history
 * is two rings (8 KiB).
 */
#include "wpcas-parts.h"

static const struct core_tunable tunables[] = {
	ANTIC_TUNABLE_ROWS,
	{ "interval", "switch", 0, 1, 0 },
	{ "window", "intervals", 16, WINDOW, 64 },
	{ "bin_us", "µs", 100, 1000, 1000 },
	{ "fine_clock", "switch", 0, 1, 0 },
	{ "width_ms", "ms", 1, 20, 2 },
	{ "region", "switch", 0, 1, REGION_WIDTH },
	{ "gamma_percent", "percent", 1, 100, 50 },
	{ "which_j", "switch", 0, 2, POINT_UPPER },
	{ "cap_ms", "ms", 1, 100, 20 },
	{ "min_samples", "intervals", 0, 1024, 8 },
	{ "tas", "switch", 0, 1, 0 },
	/* Initialised from struct core_config. */
	{ "cylinders", "cylinders", 0, 10000000, 0 },
	{ "cylinder_sectors", "sectors", 0, 1000000000, 0 },
	{ "seek_knee", "cylinders", 0, 10000000, 0 },
	{ "seek_a_ns", "ns", 0, 1000000000, 0 },
	{ "seek_b_ns", "ns", 0, 1000000000, 0 },
	{ "seek_c_ns", "ns", 0, 1000000000, 0 },
	{ "seek_e_ps", "ps", 0, 1000000000000, 0 },
	{ "nearest", "switch", 0, 1, 0 },
	{ "async_wait", "switch", 0, 1, 0 },
	{ "counter_halving", "waits", 0, 1000000, 1024 },
	{ "class", "switch", 0, 1, 0 },
	{ "mean_close", "switch", 0, 1, 0 },
	{ "relearn", "refusals", 0, 1000000, 64 },
};

static bool has_arm(const struct wpcas *wpcas)
{
	return wpcas->own[CYLINDERS] && wpcas->own[CYLINDER_SECTORS];
}

static u64 cylinder(const struct wpcas *wpcas, u64 sector)
{
	if (!has_arm(wpcas))
		return 0;
	return core_min(core_div(sector, wpcas->own[CYLINDER_SECTORS]), wpcas->own[CYLINDERS] - 1);
}

static u64 cylinders_between(const struct wpcas *wpcas, u64 from, u64 to)
{
	return core_diff(cylinder(wpcas, from), cylinder(wpcas, to));
}

/* @distance may exceed the disk. */
static u64 seek_ns(const struct wpcas *wpcas, u64 distance)
{
	u64 cylinders = wpcas->own[CYLINDERS];

	return core_seek_ns(&wpcas->seek, core_min(distance, cylinders ? cylinders - 1 : 0));
}

/* Interpolates the curve at sum / count cylinders. */
static u64 mean_seek_ns(const struct wpcas *wpcas, u64 sum, u64 count)
{
	u64 whole, rest, below, above;

	if (!count)
		return 0;
	whole = core_div(sum, count);
	rest = sum - whole * count;
	below = seek_ns(wpcas, whole);
	if (!rest)
		return below;
	above = seek_ns(wpcas, whole + 1);
	if (above >= below)
		return below + core_div(core_mul(above - below, rest), count);
	return below - core_div(core_mul(below - above, rest), count);
}

static u64 tick_ns(const struct antic *antic)
{
	return core_div(CORE_SECOND_NS, antic->hz);
}

/*
 * STE: p_s * (seek_s - seek_a - t_as) - p_f * p > 0, with p_s = (s + 1) / (s + f + 2), multiplied
 * by the common denominator.
 */
static bool wait_pays(struct wpcas *wpcas, u64 candidate)
{
	struct antic *antic = &wpcas->antic;
	struct antic_period wait = wpcas_period(antic, antic->awaited);
	const struct record *record = record_of(wpcas, antic->awaited);
	u64 head = antic->classes[ANTIC_SYNC].last_sector;
	u64 seek_s = seek_ns(wpcas, cylinders_between(wpcas, head, candidate));
	u64 seek_a = mean_seek_ns(wpcas, record->seek_sum, record->seeks.len);
	u64 t_as = antic->antic_expire * tick_ns(antic);
	u64 p = wait.exact ? wait.amount : wait.amount * tick_ns(antic);
	__int128 gain;

	if (record->waits.successes)
		t_as = core_div(record->waits.success_ns, record->waits.successes);
	gain = (__int128)(record->waits.successes + 1) * ((__int128)seek_s - seek_a - t_as);
	return gain - (__int128)(record->waits.failures + 1) * p > 0;
}

static bool refuses(struct antic *antic, struct antic_moment now, enum antic_phase phase)
{
	struct wpcas *wpcas = wpcas_of(antic);
	struct record *record = record_of(wpcas, antic->awaited);
	u32 next = antic->classes[ANTIC_SYNC].next;
	u32 candidate = next == CORE_NONE ? antic->classes[ANTIC_ASYNC].next : next;
	u64 sector;

	(void)now;
	if (phase == ANTIC_CONTINUE && wpcas->on_trial)
		return false;
	if (!wpcas_is_known(wpcas, record) || (wpcas->own[ASYNC_WAIT] && next == CORE_NONE))
		return antic_thinks_too_long(antic);
	if (candidate != CORE_NONE) {
		sector = antic->slots[candidate].sector;
		if (wpcas->own[NEAREST] && next != CORE_NONE)
			sector = antic_nearest(antic, antic->classes[ANTIC_SYNC].last_sector);
		if (wait_pays(wpcas, sector))
			return false;
	}
	if (phase == ANTIC_BEGIN && wpcas->own[RELEARN]) {
		record->refusals++;
		if (record->refusals > wpcas->own[RELEARN]) {
			record->refusals = 0;
			wpcas->on_trial = true;
			return false;
		}
	}
	return true;
}

/* False if the tunables define no interval for this arrival. */
static bool interval_ns(const struct wpcas *wpcas, const struct record *record,
			const struct antic_arrival *arrival, u64 *ns)
{
	const struct antic *antic = &wpcas->antic;
	struct antic_moment from = arrival->last_end;

	if (wpcas->own[INTERVAL]) {
		if (!record->has_arrived)
			return false;
		from.ns = record->last_arrival;
		from.ticks = antic_ticks(antic, from.ns);
	} else if (arrival->first || !arrival->nothing_outstanding || !arrival->ended) {
		return false;
	}
	if (wpcas->own[FINE_CLOCK])
		*ns = arrival->now.ns - from.ns;
	else
		*ns = (arrival->now.ticks - from.ticks) * tick_ns(antic);
	return true;
}

static void learn(struct antic *antic, const struct antic_arrival *arrival)
{
	struct wpcas *wpcas = wpcas_of(antic);
	struct record *record = record_of(wpcas, arrival->process);
	u64 window = wpcas->own[WINDOW_SIZE], ns;

	if (interval_ns(wpcas, record, arrival, &ns))
		ring_push(&record->intervals, ns, window);
	record->last_arrival = arrival->now.ns;
	record->has_arrived = true;
	record->has_period = false;
	if (!arrival->first) {
		u64 distance = cylinders_between(wpcas, arrival->last_pos, arrival->sector);
		u32 gone = ring_push(&record->seeks, distance, window);

		record->seek_sum = record->seek_sum + core_min(distance, ~0u) - gone;
	}
}

static void ended(struct antic *antic, struct core_process *process, enum antic_ending ending,
		  u64 wait_ns)
{
	struct wpcas *wpcas = wpcas_of(antic);
	struct record *record = record_of(wpcas, process);
	struct waits *waits = &record->waits;
	u64 halving = wpcas->own[COUNTER_HALVING];

	wpcas->on_trial = false;
	record->has_period = false;
	if (ending == ANTIC_CANCELLED)
		return;
	if (ending == ANTIC_SUCCESS) {
		waits->successes++;
		waits->success_ns += wait_ns;
	} else {
		waits->failures++;
		waits->failure_ns += wait_ns;
	}
	/* Recent waits count more. */
	if (halving && waits->successes + waits->failures >= halving) {
		waits->successes /= 2;
		waits->failures /= 2;
		waits->success_ns /= 2;
		waits->failure_ns /= 2;
	}
}

static bool is_on(const struct antic *antic)
{
	const struct wpcas *wpcas = (const struct wpcas *)antic;

	return antic->antic_expire > 0 && has_arm(wpcas);
}

static bool mean_seek_is_close(const struct antic *antic)
{
	const struct wpcas *wpcas = (const struct wpcas *)antic;

	return wpcas->own[MEAN_CLOSE];
}

static u64 *curve_value(struct core_seek_curve *curve, u32 tunable)
{
	switch (tunable) {
	case SEEK_KNEE:
		return &curve->knee;
	case SEEK_A_NS:
		return &curve->a_ns;
	case SEEK_B_NS:
		return &curve->b_ns;
	case SEEK_C_NS:
		return &curve->c_ns;
	case SEEK_E_PS:
		return &curve->e_ps;
	default:
		return NULL;
	}
}

static u64 get(const void *core, u32 tunable)
{
	const struct wpcas *wpcas = core;
	struct core_seek_curve curve = wpcas->seek;
	const u64 *of_curve = curve_value(&curve, tunable);

	if (tunable < ANTIC_TUNABLES)
		return antic_get(core, tunable);
	return of_curve ? *of_curve : wpcas->own[tunable];
}

static void invalidate(const struct wpcas *wpcas, struct record *record, bool other_cylinders)
{
	record->has_period = false;
	while (record->intervals.len > wpcas->own[WINDOW_SIZE])
		ring_pop(&record->intervals);
	while (record->seeks.len > wpcas->own[WINDOW_SIZE])
		record->seek_sum -= ring_pop(&record->seeks);
	if (other_cylinders) {
		/* Distances in old cylinders are meaningless. */
		record->seeks.len = 0;
		record->seek_sum = 0;
	}
}

static void set(void *core, u32 tunable, u64 value)
{
	struct wpcas *wpcas = core;
	u64 *of_curve = curve_value(&wpcas->seek, tunable);
	bool other_cylinders = false;
	struct core_process *process;

	if (tunable < ANTIC_TUNABLES) {
		antic_set(core, tunable, value);
	} else if (of_curve) {
		/* The table belongs to the old curve. */
		if (*of_curve != value)
			wpcas->seek.nr_first = 0;
		*of_curve = value;
	} else {
		if (tunable == CYLINDERS || tunable == CYLINDER_SECTORS)
			other_cylinders = wpcas->own[tunable] != value;
		wpcas->own[tunable] = value;
	}
	invalidate(wpcas, &wpcas->common, other_cylinders);
	for (process = wpcas->antic.processes; process; process = process->next)
		invalidate(wpcas, &((struct wpcas_process *)process)->record, other_cylinders);
}

static size_t state_size(u32 tags)
{
	return antic_state_size(tags, sizeof(struct wpcas), sizeof(struct wpcas_process));
}

static const struct antic_rule rule = {
	.is_on = is_on,
	.period = wpcas_period,
	.refuses = refuses,
	.mean_seek_is_close = mean_seek_is_close,
	.learn = learn,
	.ended = ended,
};

static void init(void *core, const struct core_config *config)
{
	struct wpcas *wpcas = core;
	u32 at;

	antic_init(&wpcas->antic, config, &rule, sizeof(struct wpcas),
		   sizeof(struct wpcas_process));
	for (at = ANTIC_TUNABLES; at < TUNABLES; at++)
		wpcas->own[at] = tunables[at].initial;
	wpcas->own[CYLINDERS] = config->cylinders;
	wpcas->own[CYLINDER_SECTORS] = config->sectors_per_cylinder;
	if (config->seek)
		wpcas->seek = *(const struct core_seek_curve *)config->seek;
}

const struct core_ops core_wpcas = {
	.name = "wpcas",
	.process_size = sizeof(struct wpcas_process),
	.tunables = tunables,
	.nr_tunables = TUNABLES,
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
	.get = get,
	.set = set,
	.anticipation = antic_anticipation,
};
