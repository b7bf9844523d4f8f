// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The limits of predicted occupancy of reads and of writes in the device, as in
 * crates/elevator/src/algorithm/occupancy/window.rs.
 */
#include "occupancy-parts.h"

void occ_window_refresh(struct occ *occ)
{
	bool on = occ_on(occ, OCC_WINDOW);

	occ->size = on ? occ->targets[occ->window.ruling] : CORE_MAX >> 1;
}

static bool is_recent(u64 now, u64 at)
{
	return at && (now < at || now - at <= CORE_SECOND_NS);
}

void occ_window_completed(struct occ *occ, u64 now, u32 class)
{
	struct occ_window *window = &occ->window;
	u32 ruling = 0;

	window->last[class] = core_max(now, 1);
	while (ruling < class && !is_recent(now, window->last[ruling]))
		ruling++;
	window->ruling = ruling;
}
