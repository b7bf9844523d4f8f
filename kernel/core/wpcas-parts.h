/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Internal to wpcas*.c. */
#ifndef SCHEDLAB_CORE_WPCAS_PARTS_H
#define SCHEDLAB_CORE_WPCAS_PARTS_H

#include "antic.h"
#include "seek.h"

#define MS 1000000ull
#define WINDOW 1024		/* maximum of tunable window */
#define BINS 1001		/* 100 ms in bins of 100 us, plus one */

struct ring {
	u32 values[WINDOW];
	u32 len, oldest;
};

struct waits {
	u64 successes, failures, success_ns, failure_ns;
};

/* History of a process, or of all processes (tunable class). Zeroed: none. */
struct record {
	struct ring intervals;
	struct ring seeks;
	u64 seek_sum;
	struct waits waits;
	u64 last_arrival;
	bool has_arrived;
	bool has_period;	/* @period is valid */
	struct antic_period period;
	u64 refusals;		/* decisions not to wait since the last trial wait */
};

struct wpcas_process {
	struct core_process base;
	struct record record;
};

enum { REGION_WIDTH, REGION_GROWN };
enum { POINT_UPPER, POINT_MIDDLE, POINT_LOWER };

enum {
	INTERVAL = ANTIC_TUNABLES, WINDOW_SIZE, BIN_US, FINE_CLOCK, WIDTH_MS, REGION, GAMMA_PERCENT,
	WHICH_J, CAP_MS, MIN_SAMPLES, TAS, CYLINDERS, CYLINDER_SECTORS,
	SEEK_KNEE, SEEK_A_NS, SEEK_B_NS, SEEK_C_NS, SEEK_E_PS,
	NEAREST, ASYNC_WAIT, COUNTER_HALVING, ONE_CLASS, MEAN_CLOSE, RELEARN, TUNABLES
};

struct wpcas {
	struct antic antic;
	struct core_seek_curve seek;
	u64 own[TUNABLES];	/* tunables, except those of the curve */
	struct record common;	/* with tunable class */
	bool on_trial;		/* this wait is a trial and is not cancelled */
	u16 bins[BINS];		/* scratch space */
};

static inline struct wpcas *wpcas_of(struct antic *antic)
{
	return (struct wpcas *)antic;
}

static inline struct record *record_of(struct wpcas *wpcas, struct core_process *process)
{
	return wpcas->own[ONE_CLASS] ? &wpcas->common : &((struct wpcas_process *)process)->record;
}

/* 0 is the oldest. */
static inline u32 *ring_at(struct ring *ring, u32 at)
{
	return &ring->values[(ring->oldest + at) % WINDOW];
}

static inline u32 ring_pop(struct ring *ring)
{
	u32 gone = *ring_at(ring, 0);

	ring->oldest = (ring->oldest + 1) % WINDOW;
	ring->len--;
	return gone;
}

/* Clamps to 32 bits. Returns the value that left the window, or 0. */
static inline u32 ring_push(struct ring *ring, u64 value, u64 window)
{
	u32 gone = ring->len < window ? 0 : ring_pop(ring);

	*ring_at(ring, ring->len++) = (u32)core_min(value, ~0u);
	return gone;
}

/* Otherwise anticipatory's rules apply. */
bool wpcas_is_known(const struct wpcas *wpcas, const struct record *record);
struct antic_period wpcas_period(struct antic *antic, struct core_process *process);

#endif
