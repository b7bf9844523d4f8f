/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Internal to antic*.c. */
#ifndef SCHEDLAB_CORE_ANTIC_PARTS_H
#define SCHEDLAB_CORE_ANTIC_PARTS_H

#include "antic.h"

#define ONE 256		/* 1.0 of probabilities and sample weights */

enum antic_decision {
	ANTIC_WAIT,
	ANTIC_ARRIVED,	/* a request of the awaited process, or one as good */
	ANTIC_EXPIRED,	/* the period has ended, but the timer has not fired yet */
	ANTIC_ABANDON,	/* waiting for this process does not pay */
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

/* CORE_NONE if no request starts at @sector. */
u32 antic_starts_at(const struct antic *antic, const struct antic_class *class, u64 sector);
void antic_starts_remove(struct antic *antic, struct antic_class *class, u32 tag);

/* as_choose_req(). Either tag may be CORE_NONE. */
u32 antic_choose(const struct antic *antic, u32 a, u32 b, u64 last);

void antic_del_request(struct antic *antic, u32 tag);
/* as_move_to_dispatch(). Ends a wait. */
void antic_move_to_dispatch(struct antic *antic, u32 tag);
/* as_add_rq_rb(). A request at the same sector moves to the dispatch list. */
void antic_add_sorted(struct antic *antic, u32 tag);

/* antic-history.c */
void antic_track_process(struct antic *antic, struct core_process *process);
/* Drops the copy of an exited process when nothing refers to it any more. */
void antic_release(struct antic *antic, struct core_process *process);

/* as_update_iohist(). @process may be the awaited one that the submitter cooperates with. */
void antic_learn(struct antic *antic, struct antic_moment now, struct core_process *process,
		 u64 sector, u64 end);
void antic_request_ended(struct core_process *process, struct antic_moment now);

/* antic-wait.c */
void antic_finish(struct antic *antic, u64 now_ns, enum antic_ending ending);
/* as_antic_waitreq(). The period counts from the process's last completion. */
void antic_start_waiting(struct antic *antic);
/* as_can_break_anticipation(). @candidate may be CORE_NONE. */
enum antic_decision antic_decide(struct antic *antic, struct antic_moment now, u32 candidate,
			       enum antic_phase phase);
void antic_awaited_completed(struct antic *antic, struct antic_moment now);
/* as_update_rq(): ends the wait if the request is a reason to. */
void antic_request_arrived(struct antic *antic, struct antic_moment now, u32 tag);

/* antic-batch.c */
/* CORE_NONE if nothing is queued, or while waiting or draining. */
u32 antic_choose_next(struct antic *antic, struct antic_moment now);
/* Starts a batch when the device has drained; its first completion sets the deadline. */
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
