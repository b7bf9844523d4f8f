// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Conversions between ticks of 1/HZ seconds, milliseconds and nanoseconds, exact for all 64 bits.
 */
#include "antic-parts.h"

u64 antic_ticks(const struct antic *antic, u64 ns)
{
	u64 seconds = core_div(ns, CORE_SECOND_NS);

	return seconds * antic->hz
		+ core_div((ns - seconds * CORE_SECOND_NS) * antic->hz, CORE_SECOND_NS);
}

u64 antic_ticks_up(const struct antic *antic, u64 ns)
{
	u64 seconds = core_div(ns, CORE_SECOND_NS);

	return seconds * antic->hz
		+ core_div_up((ns - seconds * CORE_SECOND_NS) * antic->hz, CORE_SECOND_NS);
}

static u64 tick_at(const struct antic *antic, u64 tick)
{
	u64 seconds = core_div(tick, antic->hz);
	u64 rest = core_div_up((tick - seconds * antic->hz) * CORE_SECOND_NS, antic->hz);

	return core_add(core_mul(seconds, CORE_SECOND_NS), rest);
}

u64 antic_to_ms(const struct antic *antic, u64 ticks)
{
	return core_div(ticks * 1000, antic->hz);
}

u64 antic_from_ms(const struct antic *antic, u64 ms)
{
	return core_div_up(ms * antic->hz, 1000);
}

u64 antic_period_ends(const struct antic *antic, struct antic_period period)
{
	if (period.exact)
		return antic->antic_start.ns + period.amount;
	return tick_at(antic, antic->antic_start.ticks + period.amount);
}

bool antic_period_is_over(const struct antic *antic, struct antic_period period,
			  struct antic_moment now)
{
	if (period.exact)
		return now.ns - antic->antic_start.ns >= period.amount;
	return now.ticks - antic->antic_start.ticks >= period.amount;
}
