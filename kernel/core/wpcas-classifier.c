// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * PC, the process classifier: derives how long to wait from the densest range of a process's
 * intervals (equations 3 to 6 of the WPCAS paper, confirmed).
 */
#include "wpcas-parts.h"

struct density {
	u32 nr_short;		/* not longer than the cap */
	u64 short_ns;		/* their sum */
	u32 bins;
};

static u64 bin_ns(const struct wpcas *wpcas)
{
	return wpcas->own[BIN_US] * 1000;
}

static u64 cap_ns(const struct wpcas *wpcas)
{
	return wpcas->own[CAP_MS] * MS;
}

static struct density fill_bins(struct wpcas *wpcas, struct record *record)
{
	u64 cap = cap_ns(wpcas), bin = bin_ns(wpcas);
	struct density density = { .bins = (u32)core_div(cap, bin) + 1 };
	u32 at;

	memset(wpcas->bins, 0, density.bins * sizeof(wpcas->bins[0]));
	for (at = 0; at < record->intervals.len; at++) {
		u32 ns = *ring_at(&record->intervals, at);

		if (ns > cap)
			continue;
		density.nr_short++;
		density.short_ns += ns;
		wpcas->bins[core_div(ns, bin)]++;
	}
	return density;
}

/* The first window on a tie. */
static u32 densest_window(const struct wpcas *wpcas, u32 bins, u32 *from, u32 *until)
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

static bool joins_mode(u32 count, u32 most)
{
	return count && 2 * count >= most;
}

/* The fullest bin, extended to neighbours at least half as full. */
static u32 densest_mode(const struct wpcas *wpcas, u32 bins, u32 *from, u32 *until)
{
	u32 mode = 0, held = 0, most, at;

	for (at = 1; at < bins; at++)
		if (wpcas->bins[at] > wpcas->bins[mode])
			mode = at;
	most = wpcas->bins[mode];
	*from = mode;
	while (*from > 0 && joins_mode(wpcas->bins[*from - 1], most))
		(*from)--;
	*until = mode + 1;
	while (*until < bins && joins_mode(wpcas->bins[*until], most))
		(*until)++;
	for (at = *from; at < *until; at++)
		held += wpcas->bins[at];
	return held;
}

/* At least one bin, at most the cap. */
static u64 clamped(const struct wpcas *wpcas, u64 ns)
{
	u64 cap = cap_ns(wpcas);

	return core_min(core_max(ns, core_min(bin_ns(wpcas), cap)), cap);
}

/* 0 if the densest range has too few intervals. */
static u64 dense_ns(const struct wpcas *wpcas, const struct record *record,
		    const struct density *density)
{
	u64 a, b, bin = bin_ns(wpcas);
	u32 from, until, held;

	if (!density->nr_short)
		return 0;
	if (wpcas->own[REGION] == REGION_WIDTH)
		held = densest_window(wpcas, density->bins, &from, &until);
	else
		held = densest_mode(wpcas, density->bins, &from, &until);
	if ((u64)held * 100 < wpcas->own[GAMMA_PERCENT] * record->intervals.len)
		return 0;
	a = from * bin;
	b = until * bin;
	if (wpcas->own[WHICH_J] == POINT_UPPER)
		return clamped(wpcas, b);
	return clamped(wpcas, wpcas->own[WHICH_J] == POINT_MIDDLE ? (a + b) / 2 : a);
}

bool wpcas_is_known(const struct wpcas *wpcas, const struct record *record)
{
	return record->intervals.len >= wpcas->own[MIN_SAMPLES] && record->intervals.len;
}

/* False if anticipatory's period applies. */
static bool period_ns(struct wpcas *wpcas, struct record *record, u64 *ns)
{
	struct density density;

	if (!wpcas_is_known(wpcas, record))
		return false;
	density = fill_bins(wpcas, record);
	*ns = dense_ns(wpcas, record, &density);
	if (*ns)
		return true;
	if (!record->waits.successes)
		return false;
	if (wpcas->own[TAS]) {
		*ns = core_div(record->waits.success_ns, record->waits.successes);
		return true;
	}
	if (!density.nr_short)
		return false;
	/* The mean, rounded up to a bin. */
	*ns = core_div(density.short_ns, density.nr_short);
	*ns = clamped(wpcas, core_div_up(*ns, bin_ns(wpcas)) * bin_ns(wpcas));
	return true;
}

struct antic_period wpcas_period(struct antic *antic, struct core_process *process)
{
	struct wpcas *wpcas = wpcas_of(antic);
	struct record *record = record_of(wpcas, process);
	struct antic_period wait = { .amount = antic->antic_expire };
	u64 ns;

	if (record->has_period)
		return record->period;
	if (period_ns(wpcas, record, &ns)) {
		wait.exact = wpcas->own[FINE_CLOCK];
		wait.amount = core_max(wait.exact ? ns : antic_ticks_up(antic, ns), 1);
	}
	record->period = wait;
	record->has_period = true;
	return wait;
}
