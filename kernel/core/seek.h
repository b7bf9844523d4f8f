/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Seek time by distance, equal to elevator::SeekCurve to the nanosecond: a + b * sqrt(d) up to a
 * knee, c + e * d beyond, and optionally a table of short distances.
 */
#ifndef SCHEDLAB_CORE_SEEK_H
#define SCHEDLAB_CORE_SEEK_H

#include "arith.h"

struct core_seek_curve {
	/* For the distances 1, 2, 3 ...; overrides the curve. Not copied: must outlive the core. */
	const u64 *first;
	u64 nr_first;
	u64 knee;	/* maximum distance of the square-root part, in cylinders */
	u64 a_ns, b_ns;	/* square-root part */
	u64 c_ns, e_ps;	/* linear part; e in picoseconds */
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
	/* e * d / 1000 in two parts, to fit 64 bits. */
	whole = core_div(curve->e_ps, 1000);
	return curve->c_ns + whole * distance
		+ core_div((curve->e_ps - whole * 1000) * distance, 1000);
}

#endif
