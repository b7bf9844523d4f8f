/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Seek time by distance, equal to elevator::SeekCurve to the nanosecond: a + b * sqrt(d) up to a
 * knee, c + e * d beyond it.
 */
#ifndef SCHEDLAB_CORE_SEEK_H
#define SCHEDLAB_CORE_SEEK_H

#include "arith.h"

struct core_seek_curve {
	/* Overrides the curve at distances 1, 2, 3 ... Not copied: it must outlive the core. */
	const u64 *first;
	u64 nr_first;
	u64 knee;	/* end of the square-root part, in cylinders */
	u64 a_ns, b_ns;
	u64 c_ns, e_ps;	/* e is in picoseconds */
};

static inline u64 core_seek_ns(const struct core_seek_curve *curve, u64 distance)
{
	u64 whole;

	if (!distance)
		return 0;
	if (distance - 1 < curve->nr_first)
		return curve->first[distance - 1];
	if (distance <= curve->knee)
		return curve->a_ns + core_root(curve->b_ns, distance);
	/* Two parts, because e * d may exceed 64 bits. */
	whole = core_div(curve->e_ps, 1000);
	return curve->c_ns + whole * distance
		+ core_div((curve->e_ps - whole * 1000) * distance, 1000);
}

#endif
