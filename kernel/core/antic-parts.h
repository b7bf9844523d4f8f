/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the parts of the machine in antic*.c need of each other; members need antic.h only.
 */
#ifndef SCHEDLAB_CORE_ANTIC_PARTS_H
#define SCHEDLAB_CORE_ANTIC_PARTS_H

#include "antic.h"

#define ONE 256		/* 1.0 of the probabilities and of the weight of a sample */

/* What becomes of a wait, begun or not. */
enum antic_verdict {
	ANTIC_WORTH_WAITING,
	ANTIC_WANTED,	/* this is what one waits for */
	ANTIC_LATE,	/* its time is over, only the timer has not fired yet */
	ANTIC_HOPELESS,	/* the process is not worth it */
};

/* antic-time.c */
u64 antic_to_ms(const struct antic *antic, u64 ticks);
u64 antic_from_ms(const struct antic *antic, u64 ms);
u64 antic_period_ends(const struct antic *antic, struct antic_period period);
bool antic_period_is_over(const struct antic *antic, struct antic_period period,
			  struct antic_moment now);

/* antic-requests.c */
void antic_chain_add(struct antic *antic, struct antic_chain *chain, u32 tag, u32 before,
		     u32 after);
void antic_chain_remove(struct antic *antic, struct antic_chain *chain, u32 tag);

/* The one that starts exactly at `sector`. */
u32 antic_starts_at(const struct antic *antic, const struct antic_class *class, u64 sector);
void antic_starts_remove(struct antic *antic, struct antic_class *class, u32 tag);

/* Which of two requests the arm at `last` should serve first; either may be CORE_NONE. */
u32 antic_choose(const struct antic *antic, u32 a, u32 b, u64 last);

/* Out of the starts and the FIFO. */
void antic_take_out(struct antic *antic, u32 tag);
/* From the trees to the dispatch list: whoever was waited for, this is over. */
void antic_move_to_dispatch(struct antic *antic, u32 tag);
/* Among the starts. A request that starts at the same sector is pushed out to the dispatch list. */
void antic_plant(struct antic *antic, u32 tag);

/* antic-history.c */
void antic_meet(struct antic *antic, struct core_process *process);
/* Lets go of the copy of a process that has ended, once nothing needs it. */
void antic_release(struct antic *antic, struct core_process *process);

/*
 * A synchronous request joins what is known of a process: its own, or the one that it works
 * together with.
 */
void antic_learn(struct antic *antic, struct antic_moment now, struct core_process *process,
		 u64 sector, u64 end);
/* A synchronous request of it is over: completed, or merged away. */
void antic_request_ended(struct core_process *process, struct antic_moment now);

/* antic-wait.c */
void antic_finish(struct antic *antic, u64 now_ns, enum antic_ending ending);
/* Begins to wait; the clock runs from the completion of the process's last request. */
void antic_start_waiting(struct antic *antic);
/*
 * Whether to wait instead of serving `candidate`, which may be CORE_NONE: the kernel's
 * can_break_anticipation.
 */
enum antic_verdict antic_judge(struct antic *antic, struct antic_moment now, u32 candidate,
			       enum antic_asked asked);
/* The request of the awaited process has completed: from here on its think time counts. */
void antic_awaited_completed(struct antic *antic, struct antic_moment now);
/* A request has been queued: is it what was waited for? */
void antic_arrived(struct antic *antic, struct antic_moment now, u32 tag);

/* antic-batch.c */
/*
 * The request to move to the dispatch list; CORE_NONE: nothing there, waiting for a process, or for
 * the device to drain.
 */
u32 antic_choose_next(struct antic *antic, struct antic_moment now);
/* A drained device begins the new batch, whose first completion sets its deadline. */
void antic_batch_completed(struct antic *antic, struct antic_moment now, u32 class);

static inline u64 antic_end_of(const struct antic_slot *rq)
{
	return rq->sector + rq->nr_sectors;
}

static inline struct antic_moment antic_moment_of(const struct antic *antic, u64 now)
{
	return (struct antic_moment){ .ns = now, .ticks = antic_ticks(antic, now) };
}

static inline void antic_raise(u64 *probability)
{
	*probability = (7 * *probability + ONE) / 8;
}

static inline void antic_lower(u64 *probability)
{
	*probability = 7 * *probability / 8;
}

static inline bool antic_is_waiting(const struct antic *antic)
{
	return antic->state == ANTIC_WAIT_REQ || antic->state == ANTIC_WAIT_NEXT;
}

#endif
