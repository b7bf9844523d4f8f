// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Anticipation: when to wait for the process that was served last, and when that is over.
 *
 * Source: Linux 2.6.20 block/as-iosched.c; confirmed. Rules 1 to 7 of breaking a wait are here,
 * with what is close; rule 8 is the member's. The mixed units of what is close are kept:
 * milliseconds are compared with ticks.
 *
 * Counting is ours: a wait that an arrival ends by rules 1, 4, 5 or 6 is a success, one that its
 * time ends (also by rule 2) a failure, and one that was called off is neither.
 */
#include "antic-parts.h"

/* Sectors around the head that are close at once: 4 MiB ahead, half of it behind. */
#define CLOSE 8192

bool antic_thinks_too_long(const struct antic *antic)
{
	const struct antic_newcomers *newcomers = &antic->newcomers;

	if (!antic->who->think.samples)
		return newcomers->think_mean > antic->antic_expire
			|| newcomers->exit_prob * newcomers->exit_no_coop > 128 * 256;
	return antic->who->think.mean > antic->antic_expire;
}

void antic_finish(struct antic *antic, u64 now_ns, enum antic_ending ending)
{
	u64 wait_ns = antic->state == ANTIC_WAIT_NEXT ? now_ns - antic->antic_start.ns : 0;

	antic->state = ANTIC_FINISHED;
	if (ending == ANTIC_SUCCESS) {
		antic->counts.successes++;
		antic->counts.success_wait_ns += wait_ns;
	} else if (ending == ANTIC_FAILURE) {
		antic->counts.failures++;
		antic->counts.failure_wait_ns += wait_ns;
	}
	if (antic->rule->ended)
		antic->rule->ended(antic, antic->who, ending, wait_ns);
}

static void start_timer(struct antic *antic)
{
	antic->antic_ends = antic_period_ends(antic, antic->rule->period(antic, antic->who));
	antic->state = ANTIC_WAIT_NEXT;
}

/* Begins to wait; the clock runs from the completion of the process's last request. */
void antic_start_waiting(struct antic *antic)
{
	antic->counts.started++;
	if (antic->who_done)
		start_timer(antic);
	else
		antic->state = ANTIC_WAIT_REQ;
}

static bool is_over(struct antic *antic, struct antic_moment now)
{
	if (antic->state == ANTIC_WAIT_NEXT)
		return now.ns >= antic->antic_ends;
	return antic_period_is_over(antic, antic->rule->period(antic, antic->who), now);
}

/*
 * Whether a request is about as good as one of the awaited process; the longer the wait, the
 * further off it may be.
 */
static bool is_close(struct antic *antic, struct antic_moment now, u64 next)
{
	const struct core_process *who = antic->who;
	u64 last = antic->classes[antic->dir].last_sector;
	u64 delay_ms = 0, window = CLOSE, expected;

	if (antic->state != ANTIC_OFF && antic->who_done)
		delay_ms = antic_to_ms(antic, now.ticks - antic->antic_start.ticks);
	if (delay_ms) {
		struct antic_period period = { 0 };
		u64 ticks;

		if (delay_ms > 20)
			return true;
		period = antic->rule->period(antic, antic->who);
		ticks = period.exact ? antic_ticks_up(antic, period.amount) : period.amount;
		/* Milliseconds against ticks, as in the source. */
		if (delay_ms > ticks)
			return true;
		window <<= delay_ms;
	}
	if (last <= core_add(next, window / 2) && next <= last + window)
		return true;
	expected = who->seek.samples ? who->seek.mean : antic->newcomers.seek_mean;
	return antic->rule->mean_seek_is_close(antic) && core_diff(last, next) < expected;
}

/*
 * Whether to wait instead of serving `candidate`, which may be CORE_NONE: the kernel's
 * can_break_anticipation.
 */
enum antic_verdict antic_judge(struct antic *antic, struct antic_moment now, u32 candidate,
			       enum antic_asked asked)
{
	struct core_process *who = antic->who;
	const struct antic_slot *rq = candidate == CORE_NONE ? NULL : &antic->slots[candidate];
	struct antic_newcomers *newcomers = &antic->newcomers;

	if (rq && rq->process == who)
		return ANTIC_WANTED;
	if (antic->who_done && is_over(antic, now))
		return ANTIC_LATE;
	if (who->queued || who->listed)
		return ANTIC_WANTED;
	if (rq && rq->sync && is_close(antic, now, rq->sector)) {
		if (who->exited) {
			if (!who->think.samples)
				antic_raise(&newcomers->exit_prob);
			antic_lower(&newcomers->exit_no_coop);
		}
		antic_learn(antic, now, who, rq->sector, antic_end_of(rq));
		return ANTIC_WANTED;
	}
	if (who->exited) {
		if (!who->think.samples)
			antic_raise(&newcomers->exit_prob);
		if (newcomers->exit_no_coop > 128)
			return ANTIC_HOPELESS;
	}
	return antic->rule->refuses(antic, now, asked) ? ANTIC_HOPELESS : ANTIC_WORTH_WAITING;
}

/* The request of the awaited process has completed: from here on its think time counts. */
void antic_awaited_completed(struct antic *antic, struct antic_moment now)
{
	antic->antic_start = now;
	antic->who_done = true;
	if (antic->state == ANTIC_WAIT_REQ)
		start_timer(antic);
}

/* A request has been queued: is it what was waited for? */
void antic_arrived(struct antic *antic, struct antic_moment now, u32 tag)
{
	if (!antic_is_waiting(antic))
		return;
	switch (antic_judge(antic, now, tag, ANTIC_TO_GO_ON)) {
	case ANTIC_WORTH_WAITING:
		break;
	case ANTIC_WANTED:
		antic_finish(antic, now.ns, ANTIC_SUCCESS);
		break;
	case ANTIC_LATE:
		antic_finish(antic, now.ns, ANTIC_FAILURE);
		break;
	case ANTIC_HOPELESS:
		antic_finish(antic, now.ns, ANTIC_CALLED_OFF);
		break;
	}
}

void antic_on_timer(void *core, u64 now)
{
	struct antic *antic = core;

	if (antic->state != ANTIC_WAIT_NEXT || now < antic->antic_ends)
		return;
	if (!antic->who->think.samples)
		antic_raise(&antic->newcomers.exit_prob);
	if (antic->who->exited)
		antic_raise(&antic->newcomers.exit_no_coop);
	antic_finish(antic, now, ANTIC_FAILURE);
}
