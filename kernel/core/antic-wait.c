// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * When to wait for the process served last, and when to stop: rules 1 to 7 of
 * as_can_break_anticipation(). Rule 8 depends on the scheduler. See antic.c.
 *
 * Counters are an addition to 2.6.20. A wait is a success if rule 1, 4, 5 or 6 ends it, a failure
 * if it expires (rule 2 or the timer), and otherwise cancelled.
 */
#include "antic-parts.h"

/* 4 MiB ahead of the head, half of it behind. */
#define CLOSE 8192

bool antic_thinks_too_long(const struct antic *antic)
{
	const struct antic_newcomers *newcomers = &antic->newcomers;

	if (!antic->awaited->think.samples)
		return newcomers->think_mean > antic->antic_expire
			|| newcomers->exit_prob * newcomers->exit_no_coop > 128 * 256;
	return antic->awaited->think.mean > antic->antic_expire;
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
		antic->rule->ended(antic, antic->awaited, ending, wait_ns);
}

static void start_timer(struct antic *antic)
{
	antic->antic_ends = antic_period_ends(antic, antic->rule->period(antic, antic->awaited));
	antic->state = ANTIC_WAIT_NEXT;
}

void antic_start_waiting(struct antic *antic)
{
	antic->counts.started++;
	if (antic->awaited_done)
		start_timer(antic);
	else
		antic->state = ANTIC_WAIT_REQ;
}

static bool is_over(struct antic *antic, struct antic_moment now)
{
	if (antic->state == ANTIC_WAIT_NEXT && !antic->rule->period_is_current)
		return now.ns >= antic->antic_ends;
	return antic_period_is_over(antic, antic->rule->period(antic, antic->awaited), now);
}

/* as_close_req(). The window grows with the length of the wait. */
static bool is_close(struct antic *antic, struct antic_moment now, u64 next)
{
	const struct core_process *process = antic->awaited;
	u64 last = antic->classes[antic->dir].last_sector;
	u64 delay_ms = 0, window = CLOSE, expected;

	if (antic->state != ANTIC_OFF && antic->awaited_done)
		delay_ms = antic_to_ms(antic, now.ticks - antic->antic_start.ticks);
	if (delay_ms) {
		struct antic_period period = { 0 };
		u64 ticks;

		if (delay_ms > 20)
			return true;
		period = antic->rule->period(antic, antic->awaited);
		ticks = period.exact ? antic_ticks_up(antic, period.amount) : period.amount;
		/* 2.6.20 compares milliseconds with ticks. */
		if (delay_ms > ticks)
			return true;
		/* 2.6.20 shifts an int, which overflows from 18 ms on. */
		window = (u64)(int)((u32)CLOSE << delay_ms);
	}
	if (last <= next + window / 2 && next <= last + window)
		return true;
	expected = process->seek.samples ? process->seek.mean : antic->newcomers.seek_mean;
	return antic->rule->mean_seek_is_close(antic) && core_diff(last, next) < expected;
}

enum antic_decision antic_decide(struct antic *antic, struct antic_moment now, u32 candidate,
			       enum antic_phase phase)
{
	struct core_process *process = antic->awaited;
	const struct antic_slot *rq = candidate == CORE_NONE ? NULL : &antic->slots[candidate];
	struct antic_newcomers *newcomers = &antic->newcomers;

	if (rq && rq->process == process)
		return ANTIC_ARRIVED;
	if (antic->awaited_done && is_over(antic, now))
		return ANTIC_EXPIRED;
	if (process->queued || process->listed)
		return ANTIC_ARRIVED;
	if (rq && rq->sync && is_close(antic, now, rq->sector)) {
		if (process->exited) {
			if (!process->think.samples)
				antic_raise(&newcomers->exit_prob);
			antic_lower(&newcomers->exit_no_coop);
		}
		antic_learn(antic, now, process, rq->sector, antic_end_of(rq));
		return ANTIC_ARRIVED;
	}
	if (process->exited) {
		if (!process->think.samples)
			antic_raise(&newcomers->exit_prob);
		if (newcomers->exit_no_coop > 128)
			return ANTIC_ABANDON;
	}
	return antic->rule->refuses(antic, now, phase) ? ANTIC_ABANDON : ANTIC_WAIT;
}

void antic_awaited_completed(struct antic *antic, struct antic_moment now)
{
	antic->antic_start = now;
	antic->awaited_done = true;
	if (antic->state == ANTIC_WAIT_REQ)
		start_timer(antic);
}

void antic_request_arrived(struct antic *antic, struct antic_moment now, u32 tag)
{
	if (!antic_is_waiting(antic))
		return;
	switch (antic_decide(antic, now, tag, ANTIC_CONTINUE)) {
	case ANTIC_WAIT:
		break;
	case ANTIC_ARRIVED:
		antic_finish(antic, now.ns, ANTIC_SUCCESS);
		break;
	case ANTIC_EXPIRED:
		antic_finish(antic, now.ns, ANTIC_FAILURE);
		break;
	case ANTIC_ABANDON:
		antic_finish(antic, now.ns, ANTIC_CANCELLED);
		break;
	}
}

void antic_on_timer(void *core, u64 now)
{
	struct antic *antic = core;

	if (antic->state != ANTIC_WAIT_NEXT || now < antic->antic_ends)
		return;
	if (!antic->awaited->think.samples)
		antic_raise(&antic->newcomers.exit_prob);
	if (antic->awaited->exited)
		antic_raise(&antic->newcomers.exit_no_coop);
	antic_finish(antic, now, ANTIC_FAILURE);
}
