// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wpcas: waits as long as the process's most frequent intervals say, and only if a shorter service time is expected of it. The
 * counterpart of the row `wpcas` of crates/elevator, where every open point of the paper and what was chosen for it is listed;
 * the machine is antic.c. The same decisions, one by one.
 *
 * Source: the WPCAS paper, on the anticipatory scheduler of Linux 2.6.20. Its classifier and its service time evaluation are
 * confirmed in the paper, the base in the kernel; what the paper leaves open is a proposal of ours.
 *
 * Departures from the Rust elevator, besides those in antic.c: none in what is decided. Bins are counted when somebody asks and
 * something was learnt since, not kept up to date with each arrival: a record is two rings of numbers, which a kernel can keep
 * for each process (8 KiB), and the bins are the core's.
 */
#include "antic.h"
#include "seek.h"

#define MS 1000000ull
#define WINDOW 1024		/* the largest window */
#define BINS 1001		/* 100 ms in bins of 100 us, and the last */

/* The last numbers of a process. */
struct ring {
	u32 values[WINDOW];
	u32 len, oldest;
};

/* How waits for a process have ended. */
struct waits {
	u64 successes, failures, success_ns, failure_ns;
};

/* What is known of a class of processes, which is one process. All zero: nothing. */
struct record {
	struct ring intervals;	/* nanoseconds */
	struct ring seeks;	/* cylinders */
	u64 seek_sum;
	struct waits waits;
	u64 last_arrival;
	bool has_arrived;
	bool has_period;	/* `period` is how long to wait for it, until it learns something */
	struct antic_period period;
	u64 refusals;		/* decisions against waiting since the last wait on trial */
};

struct wpcas_process {
	struct core_process base;
	struct record record;
};

enum { REGION_WIDTH, REGION_GROWN };
enum { POINT_UPPER, POINT_MIDDLE, POINT_LOWER };

enum {
	INTERVAL = ANTIC_TUNABLES, WINDOW_SIZE, BIN_US, FINE_CLOCK, WIDTH_MS, REGION, GAMMA_PERCENT, WHICH_J, CAP_MS,
	MIN_SAMPLES, TAS, CYLINDERS, CYLINDER_SECTORS, SEEK_KNEE, SEEK_A_NS, SEEK_B_NS, SEEK_C_NS, SEEK_E_PS, NEAREST,
	ASYNC_WAIT, COUNTER_HALVING, ONE_CLASS, MEAN_CLOSE, RELEARN, TUNABLES
};

struct wpcas {
	struct antic antic;
	struct core_seek_curve seek;
	u64 own[TUNABLES];	/* values of those tunables that are a member's own, without those of the curve */
	struct record common;	/* of all processes together, where they are one class */
	bool on_trial;		/* the present wait is on trial: it is not called off */
	u16 bins[BINS];		/* for one look */
};

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
	/* These seven begin as configured. */
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

static struct wpcas *of(struct antic *antic)
{
	return (struct wpcas *)antic;
}

static struct record *record_of(struct wpcas *wpcas, struct core_process *process)
{
	return wpcas->own[ONE_CLASS] ? &wpcas->common : &((struct wpcas_process *)process)->record;
}

/* ---- Rings ---- */

/* The value at a place, counted from the oldest. */
static u32 *ring_at(struct ring *ring, u32 at)
{
	return &ring->values[(ring->oldest + at) % WINDOW];
}

/* Takes the oldest out. */
static u32 ring_pop(struct ring *ring)
{
	u32 gone = *ring_at(ring, 0);

	ring->oldest = (ring->oldest + 1) % WINDOW;
	ring->len--;
	return gone;
}

/* Takes a number in, at most as large as fits; gives the one that had to go for it, or 0. */
static u32 ring_push(struct ring *ring, u64 value, u64 window)
{
	u32 gone = ring->len < window ? 0 : ring_pop(ring);

	*ring_at(ring, ring->len++) = (u32)core_min(value, ~0u);
	return gone;
}

/* ---- The arm ---- */

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

/* Cylinders between two sectors. */
static u64 cylinders_between(const struct wpcas *wpcas, u64 from, u64 to)
{
	return core_diff(cylinder(wpcas, from), cylinder(wpcas, to));
}

/* Nanoseconds for a distance in cylinders; none is longer than the disk. */
static u64 seek_ns(const struct wpcas *wpcas, u64 distance)
{
	u64 cylinders = wpcas->own[CYLINDERS];

	return core_seek_ns(&wpcas->seek, core_min(distance, cylinders ? cylinders - 1 : 0));
}

/* Nanoseconds for a mean distance of sum / count cylinders: between two whole distances in proportion. */
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

/* ---- PC, the process classifier: where most intervals of a process lie ---- */

/* What the classifier sees in a record. */
struct density {
	u32 short_ones;		/* intervals that are not too long */
	u64 short_ns;		/* their sum */
	u32 bins;		/* bins that there are */
};

static u64 bin_ns(const struct wpcas *wpcas)
{
	return wpcas->own[BIN_US] * 1000;
}

static u64 cap_ns(const struct wpcas *wpcas)
{
	return wpcas->own[CAP_MS] * MS;
}

static struct density count(struct wpcas *wpcas, struct record *record)
{
	u64 cap = cap_ns(wpcas), bin = bin_ns(wpcas);
	struct density density = { .bins = (u32)core_div(cap, bin) + 1 };
	u32 at;

	memset(wpcas->bins, 0, density.bins * sizeof(wpcas->bins[0]));
	for (at = 0; at < record->intervals.len; at++) {
		u32 ns = *ring_at(&record->intervals, at);

		if (ns > cap)
			continue;
		density.short_ones++;
		density.short_ns += ns;
		wpcas->bins[core_div(ns, bin)]++;
	}
	return density;
}

/* The bins in a row, as many as the width says, that hold most; of equal ones the first. */
static u32 widest(const struct wpcas *wpcas, u32 bins, u32 *from, u32 *until)
{
	u64 width = core_max(core_div(wpcas->own[WIDTH_MS] * MS, bin_ns(wpcas)), 1);
	u32 wide = (u32)core_min(width, bins);
	u32 held = 0, most, at;

	for (at = 0; at < wide; at++)
		held += wpcas->bins[at];
	most = held;
	*from = 0;
	for (at = wide; at < bins; at++) {
		held = held + wpcas->bins[at] - wpcas->bins[at - wide];
		if (held > most) {
			most = held;
			*from = at - wide + 1;
		}
	}
	*until = *from + wide;
	return most;
}

/* The fullest bin, grown while a neighbour holds at least half as many. */
static u32 grown(const struct wpcas *wpcas, u32 bins, u32 *from, u32 *until)
{
	u32 mode = 0, held = 0, at;

	for (at = 1; at < bins; at++)
		if (wpcas->bins[at] > wpcas->bins[mode])
			mode = at;
	*from = mode;
	while (*from > 0 && wpcas->bins[*from - 1] && 2 * wpcas->bins[*from - 1] >= wpcas->bins[mode])
		(*from)--;
	*until = mode + 1;
	while (*until < bins && wpcas->bins[*until] && 2 * wpcas->bins[*until] >= wpcas->bins[mode])
		(*until)++;
	for (at = *from; at < *until; at++)
		held += wpcas->bins[at];
	return held;
}

/* No wait is shorter than a bin or longer than the cap. */
static u64 clamped(const struct wpcas *wpcas, u64 ns)
{
	u64 cap = cap_ns(wpcas);

	return core_min(core_max(ns, core_min(bin_ns(wpcas), cap)), cap);
}

/* How long to wait by the densest interval, if it holds enough of all intervals; 0: it does not. */
static u64 dense_ns(const struct wpcas *wpcas, const struct record *record, const struct density *density)
{
	u64 a, b, bin = bin_ns(wpcas);
	u32 from, until, held;

	if (!density->short_ones)
		return 0;
	if (wpcas->own[REGION] == REGION_WIDTH)
		held = widest(wpcas, density->bins, &from, &until);
	else
		held = grown(wpcas, density->bins, &from, &until);
	if ((u64)held * 100 < wpcas->own[GAMMA_PERCENT] * record->intervals.len)
		return 0;
	a = from * bin;
	b = until * bin;
	if (wpcas->own[WHICH_J] == POINT_UPPER)
		return clamped(wpcas, b);
	return clamped(wpcas, wpcas->own[WHICH_J] == POINT_MIDDLE ? (a + b) / 2 : a);
}

static bool is_known(const struct wpcas *wpcas, const struct record *record)
{
	return record->intervals.len >= wpcas->own[MIN_SAMPLES] && record->intervals.len;
}

/* The anticipation period; false: as long as the base would. */
static bool period_ns(struct wpcas *wpcas, struct record *record, u64 *ns)
{
	struct density density;

	if (!is_known(wpcas, record))
		return false;
	density = count(wpcas, record);
	*ns = dense_ns(wpcas, record, &density);
	if (*ns)
		return true;
	if (!record->waits.successes)
		return false;
	if (wpcas->own[TAS]) {
		*ns = core_div(record->waits.success_ns, record->waits.successes);
		return true;
	}
	if (!density.short_ones)
		return false;
	/* The mean of those that are not too long, rounded up to a bin. */
	*ns = core_div_up(core_div(density.short_ns, density.short_ones), bin_ns(wpcas)) * bin_ns(wpcas);
	*ns = clamped(wpcas, *ns);
	return true;
}

static struct antic_period period(struct antic *antic, struct core_process *process)
{
	struct wpcas *wpcas = of(antic);
	struct record *record = record_of(wpcas, process);
	u64 ns;

	if (record->has_period)
		return record->period;
	if (!period_ns(wpcas, record, &ns))
		record->period = (struct antic_period){ .amount = antic->antic_expire };
	else if (wpcas->own[FINE_CLOCK])
		record->period = (struct antic_period){ .amount = core_max(ns, 1), .exact = true };
	else
		record->period = (struct antic_period){ .amount = core_max(antic_ticks_up(antic, ns), 1) };
	record->has_period = true;
	return record->period;
}

/* ---- STE, the service time evaluation: is the expected time with anticipation shorter than without? ---- */

static u64 tick_ns(const struct antic *antic)
{
	return core_div(CORE_SECOND_NS, antic->hz);
}

/*
 * Whether the gain is positive: p_s * (seek_s - seek_a - t_as) - p_f * p, with p_s = (s + 1) / (s + f + 2), as a product, and
 * multiplied by the common denominator, so that integers are exact.
 */
static bool pays(struct wpcas *wpcas, u64 rival)
{
	struct antic *antic = &wpcas->antic;
	struct antic_period wait = period(antic, antic->who);
	const struct record *record = record_of(wpcas, antic->who);
	u64 head = antic->classes[ANTIC_SYNC].last_sector;
	u64 seek_s = seek_ns(wpcas, cylinders_between(wpcas, head, rival));
	u64 seek_a = mean_seek_ns(wpcas, record->seek_sum, record->seeks.len);
	u64 t_as = antic->antic_expire * tick_ns(antic);
	u64 p = wait.exact ? wait.amount : wait.amount * tick_ns(antic);
	__int128 gain;

	if (record->waits.successes)
		t_as = core_div(record->waits.success_ns, record->waits.successes);
	gain = (__int128)(record->waits.successes + 1) * ((__int128)seek_s - seek_a - t_as);
	return gain - (__int128)(record->waits.failures + 1) * p > 0;
}

static bool refuses(struct antic *antic, struct antic_moment now, enum antic_asked asked)
{
	struct wpcas *wpcas = of(antic);
	struct record *record = record_of(wpcas, antic->who);
	u32 next = antic->classes[ANTIC_SYNC].next;
	u32 rival = next == CORE_NONE ? antic->classes[ANTIC_ASYNC].next : next;
	u64 sector;

	(void)now;
	if (asked == ANTIC_TO_GO_ON && wpcas->on_trial)
		return false;
	if (!is_known(wpcas, record) || (wpcas->own[ASYNC_WAIT] && next == CORE_NONE))
		return antic_thinks_too_long(antic);
	if (rival != CORE_NONE) {
		sector = antic->slots[rival].sector;
		if (wpcas->own[NEAREST] && next != CORE_NONE)
			sector = antic_nearest(antic, antic->classes[ANTIC_SYNC].last_sector);
		if (pays(wpcas, sector))
			return false;
	}
	if (asked == ANTIC_TO_BEGIN && wpcas->own[RELEARN]) {
		record->refusals++;
		if (record->refusals > wpcas->own[RELEARN]) {
			record->refusals = 0;
			wpcas->on_trial = true;
			return false;
		}
	}
	return true;
}

/* ---- What is learnt ---- */

/* The interval that an arrival ends, by what the tunables call one; false: it ends none. */
static bool interval_ns(const struct wpcas *wpcas, const struct record *record, const struct antic_arrival *arrival,
			u64 *ns)
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
	*ns = wpcas->own[FINE_CLOCK] ? arrival->now.ns - from.ns : (arrival->now.ticks - from.ticks) * tick_ns(antic);
	return true;
}

static void learn(struct antic *antic, const struct antic_arrival *arrival)
{
	struct wpcas *wpcas = of(antic);
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

static void ended(struct antic *antic, struct core_process *process, enum antic_ending ending, u64 wait_ns)
{
	struct wpcas *wpcas = of(antic);
	struct record *record = record_of(wpcas, process);
	struct waits *waits = &record->waits;
	u64 halving = wpcas->own[COUNTER_HALVING];

	wpcas->on_trial = false;
	record->has_period = false;
	if (ending == ANTIC_CALLED_OFF)
		return;
	if (ending == ANTIC_SUCCESS) {
		waits->successes++;
		waits->success_ns += wait_ns;
	} else {
		waits->failures++;
		waits->failure_ns += wait_ns;
	}
	/* What counts lately counts more: all four are halved when so many waits have been counted. */
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

/* ---- Tunables, sizes and beginnings ---- */

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

/* A record after a tunable has changed: what was concluded from it is void. */
static void review(const struct wpcas *wpcas, struct record *record, bool other_cylinders)
{
	record->has_period = false;
	while (record->intervals.len > wpcas->own[WINDOW_SIZE])
		ring_pop(&record->intervals);
	while (record->seeks.len > wpcas->own[WINDOW_SIZE])
		record->seek_sum -= ring_pop(&record->seeks);
	if (other_cylinders) {
		/* Distances in the old cylinders mean nothing in the new ones. */
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
		/* Distances that a drive's sheet listed go when the curve changes. */
		if (*of_curve != value)
			wpcas->seek.nr_first = 0;
		*of_curve = value;
	} else {
		other_cylinders = (tunable == CYLINDERS || tunable == CYLINDER_SECTORS) && wpcas->own[tunable] != value;
		wpcas->own[tunable] = value;
	}
	review(wpcas, &wpcas->common, other_cylinders);
	for (process = wpcas->antic.processes; process; process = process->next)
		review(wpcas, &((struct wpcas_process *)process)->record, other_cylinders);
}

static size_t state_size(u32 tags)
{
	return antic_state_size(tags, sizeof(struct wpcas), sizeof(struct wpcas_process));
}

static const struct antic_rule rule = {
	.is_on = is_on,
	.period = period,
	.refuses = refuses,
	.mean_seek_is_close = mean_seek_is_close,
	.learn = learn,
	.ended = ended,
};

static void init(void *core, const struct core_config *config)
{
	struct wpcas *wpcas = core;
	u32 at;

	antic_init(&wpcas->antic, config, &rule, sizeof(struct wpcas), sizeof(struct wpcas_process));
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
