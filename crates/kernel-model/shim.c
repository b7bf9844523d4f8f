// SPDX-License-Identifier: MIT OR Apache-2.0
/* Header-only functions of kernel/core, for tests. */
#include "seek.h"

u64 shim_seek_ns(const struct core_seek_curve *curve, u64 distance);

u64 shim_seek_ns(const struct core_seek_curve *curve, u64 distance)
{
	return core_seek_ns(curve, distance);
}
