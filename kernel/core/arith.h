/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * 64-bit arithmetic of the cores. A kernel does not link the compiler's runtime library, so 64-bit
 * division must be core_div(), and there is no 128-bit division.
 */
#ifndef SCHEDLAB_CORE_ARITH_H
#define SCHEDLAB_CORE_ARITH_H

#include "types.h"

#define CORE_SECOND_NS 1000000000ull
#define CORE_MAX (~0ull)

static inline u64 core_div(u64 dividend, u64 divisor)
{
#ifdef __KERNEL__
	return div64_u64(dividend, divisor);
#else
	return dividend / divisor;
#endif
}

static inline s64 core_div_signed(s64 dividend, s64 divisor)
{
#ifdef __KERNEL__
	return div64_s64(dividend, divisor);
#else
	return dividend / divisor;
#endif
}

static inline u64 core_div_up(u64 dividend, u64 divisor)
{
	u64 quotient = core_div(dividend, divisor);

	return quotient + (quotient * divisor != dividend);
}

static inline u64 core_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 core_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 core_diff(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* Saturating. */
static inline u64 core_add(u64 a, u64 b)
{
	return a > CORE_MAX - b ? CORE_MAX : a + b;
}

static inline u64 core_mul(u64 a, u64 b)
{
	u64 product;

	return __builtin_mul_overflow(a, b, &product) ? CORE_MAX : product;
}

/* factor * sqrt(times), rounded down once: a single root of factor * factor * times is exact. */
static inline u64 core_root(u64 factor, u64 times)
{
	unsigned __int128 square = (unsigned __int128)factor * factor * times;
	u64 root = 0;
	int bit = 63;

	/* A root has at most half the bits of its square, rounded up. */
	while (bit > 0 && !(square >> (2 * bit)))
		bit--;
	for (; bit >= 0; bit--) {
		u64 larger = root | 1ull << bit;

		if ((unsigned __int128)larger * larger <= square)
			root = larger;
	}
	return root;
}

#endif
