// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Think times, and how long waiting pays, as in crates/elevator/src/algorithm/occupancy/think.rs.
 */
#include "occupancy-parts.h"

#define FIRST_NS 16000ull
#define MOST_THINKS 64
#define ENOUGH_THINKS 4		/* before a process's own histogram is used */

void occ_thinks_add(struct occ_thinks *thinks, u64 ns)
{
	u64 units = core_div(ns ? ns - 1 : 0, FIRST_NS);
	u32 edge = units ? 64 - (u32)__builtin_clzll(units) : 0;

	thinks->counts[edge < OCC_EDGES ? edge : OCC_EDGES]++;
	if (++thinks->nr < MOST_THINKS)
		return;
	thinks->nr = 0;
	for (edge = 0; edge <= OCC_EDGES; edge++) {
		thinks->counts[edge] /= 2;
		thinks->nr = (u16)(thinks->nr + thinks->counts[edge]);
	}
}

bool occ_thinks_known(const struct occ_thinks *thinks)
{
	return thinks->nr >= ENOUGH_THINKS;
}

u64 occ_thinks_best_wait(const struct occ_thinks *thinks, u64 elapsed, u64 gain)
{
	u64 total = 0, hits = 0, spent = 0, best = 0, most = 0;
	u32 first = 0, edge;

	while (first < OCC_EDGES && FIRST_NS << first <= elapsed)
		first++;
	if (first == OCC_EDGES)
		return 0;
	for (edge = first; edge <= OCC_EDGES; edge++)
		total += thinks->counts[edge];
	for (edge = first; edge < OCC_EDGES; edge++) {
		u64 until = FIRST_NS << edge, count = thinks->counts[edge], cost;

		if (!count)
			continue;
		hits += count;
		spent += count * (core_max(until - until / 4, elapsed) - elapsed);
		cost = spent + (total - hits) * (until - elapsed);
		if (hits * gain > cost && hits * gain - cost > most) {
			most = hits * gain - cost;
			best = until;
		}
	}
	return best;
}
