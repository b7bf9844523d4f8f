// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The limit of predicted occupancy in flight, as in
 * crates/elevator/src/algorithm/occupancy/window.rs.
 */
#include "occupancy-parts.h"

#define SAMPLES 16	/* completions of a class between changes */

static const u64 percents[4] = { 80, 100, 133, 200 };

void occ_window_init(struct occ_window *window)
{
	window->ruling = OCC_OF_SYNC;
	window->doubling = true;
}

void occ_window_refresh(struct occ *occ)
{
	const struct occ_window *window = &occ->window;

	if (!window->window || !occ_on(occ, OCC_STEERING))
		occ->size = occ->targets[window->ruling];
	else
		occ->size = window->window;
}

bool occ_is_full(const struct occ *occ, u64 more)
{
	return occ_on(occ, OCC_WINDOW) && occ->in_flight &&
	       core_add(occ->load, more) > occ->size &&
	       (occ_seeks(&occ->model) == OCC_YES ||
		occ->window.ruling == OCC_OF_REAL_TIME || occ->nr_uneven);
}

static void start_count(struct occ_delays *of, u64 now)
{
	of->nr = 0;
	memset(of->above, 0, sizeof(of->above));
	of->since = now;
}

static bool is_recent(u64 now, u64 at)
{
	return at && (now < at || now - at <= CORE_SECOND_NS);
}

/* Up to 10 % of the completions may be late. */
static bool exceeds(const struct occ_delays *of, u32 count)
{
	return (u64)count * 10 > of->nr;
}

static void relax(struct occ_delays *of, u64 now, bool missed)
{
	if (!missed) {
		of->missed_since = 0;
	} else if (!of->missed_since) {
		of->missed_since = core_max(now, 1);
	} else if (now > of->missed_since && now - of->missed_since > CORE_SECOND_NS) {
		of->relaxed = of->relaxed < 10 ? of->relaxed + 1 : 10;
		of->missed_since = 0;
	}
}

static void steer(struct occ_window *of, struct occ_delays *delays, u64 now, u64 target, u64 least)
{
	u64 window = of->window ? of->window : target;
	bool missed = exceeds(delays, delays->above[1]);

	relax(delays, now, missed && window <= least);
	if (exceeds(delays, delays->above[3])) {
		window = window / 2;
	} else if (exceeds(delays, delays->above[2])) {
		window = window / 8 * 5;
	} else if (missed) {
		window = window / 8 * 7;
	} else if (!exceeds(delays, delays->above[0]) && of->blocked) {
		if (delays->relaxed && window > 4 * least)
			delays->relaxed--;
		window = of->doubling ? core_mul(window, 2) : core_add(window, least / 4);
	}
	of->doubling &= !missed;
	of->blocked = false;
	of->window = core_min(core_max(window, core_max(least, 1)), 100 * CORE_SECOND_NS);
}

static void rule(struct occ *occ, u64 now, u32 class)
{
	struct occ_window *window = &occ->window;
	u32 ruling = 0;

	while (ruling < OCC_TARGETS && !is_recent(now, window->of[ruling].last))
		ruling++;
	if (ruling == OCC_TARGETS)
		ruling = class;
	if (ruling == window->ruling)
		return;
	window->doubling = ruling > window->ruling;
	if (!window->doubling)
		window->window = core_min(window->window, occ->targets[ruling]);
	window->ruling = ruling;
}

void occ_window_completed(struct occ *occ, u64 now, u32 class, u64 delay, u64 least)
{
	struct occ_delays *of = &occ->window.of[class];
	u64 target = occ->targets[class] << of->relaxed;
	u32 at;

	if (!is_recent(now, of->last))
		start_count(of, now);
	of->last = core_max(now, 1);
	of->nr++;
	for (at = 0; at < 4 && delay / 4 * 100 > target / 4 * percents[at]; at++)
		of->above[at]++;
	rule(occ, now, class);
	if (of->nr < SAMPLES || now - of->since < 4 * target)
		return;
	if (class == occ->window.ruling)
		steer(&occ->window, of, now, target, least);
	start_count(of, now);
}
