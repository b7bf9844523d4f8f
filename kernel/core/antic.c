// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The machine that the anticipatory family shares: batches, the dispatch list, the accounts of processes, and when to wait
 * for the process that was served last. The same decisions as crates/elevator/src/algorithm/anticipatory/, one by one; a
 * differential test in crates/kernel-core holds the two against each other.
 *
 * Source: Linux 2.6.20 block/as-iosched.c and block/elevator.c; confirmed, with its oddities: a batch whose beginning waits
 * for the device to drain starts with the deadline of the batch before (tunable `drain`), the first write of a batch is not
 * the oldest (`first_write`), front merges look in the tree of the direction (`front_merge`), and what is close is found by
 * comparing milliseconds with ticks.
 *
 * Departures from 2.6.20 are those of the Rust machine: no plugging; a request that is dispatched goes to the device at once,
 * so that the dispatch list holds something only after an alias was pushed out or a request was given back; a process always
 * has a record. Counting waits is ours.
 *
 * Departures from the Rust machine:
 * - A process is its record, not a number. When it has ended, what its requests still need is copied into the core and
 *   nothing points at the record any more. The Rust machine knows numbers, so that a new process of an old number takes over
 *   requests that the old one left behind and ends a wait for it; in a kernel there is no such relation, and here there is
 *   none. (Linux 2.6.20 shared a record between all disks; one of blk-mq is for one queue.)
 * - front_merge() finds what can be found at a front; Rust leaves that to the queue's hash.
 *
 * A tag's place among the starts is found by halving, and entering it moves what lies above: right for some hundreds of tags.
 */
#include "antic.h"

#define ONE 256			/* 1.0 of the probabilities */
#define BACK_SECTORS (1024 * 1024)	/* backwards at most 512 MiB, */
#define BACK_PENALTY 2		/* and at twice the price */
#define CLOSE 8192		/* sectors around the head that are close at once: 4 MiB ahead, half of it behind */
#define MAX_DISTANCE (1ull << 48)	/* more than any disk has: keeps the sums below 2^64 whatever comes */

/* What becomes of a wait, begun or not. */
enum verdict {
	WAIT,
	WANTED,			/* this is what one waits for */
	LATE,			/* its time is over, only the timer has not fired yet */
	HOPELESS,		/* the process is not worth it */
};

/* ---- Time ---- */

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

/* The first nanosecond of a tick. */
static u64 tick_at(const struct antic *antic, u64 tick)
{
	u64 seconds = core_div(tick, antic->hz);
	u64 rest = core_div_up((tick - seconds * antic->hz) * CORE_SECOND_NS, antic->hz);

	return core_add(core_mul(seconds, CORE_SECOND_NS), rest);
}

static struct antic_moment moment(const struct antic *antic, u64 now)
{
	return (struct antic_moment){ .ns = now, .ticks = antic_ticks(antic, now) };
}

static u64 to_ms(const struct antic *antic, u64 ticks)
{
	return core_div(ticks * 1000, antic->hz);
}

static u64 from_ms(const struct antic *antic, u64 ms)
{
	return core_div_up(ms * antic->hz, 1000);
}

static u64 period_ends(const struct antic *antic, struct antic_period period)
{
	if (period.exact)
		return antic->antic_start.ns + period.amount;
	return tick_at(antic, antic->antic_start.ticks + period.amount);
}

static bool period_is_over(const struct antic *antic, struct antic_period period, struct antic_moment now)
{
	if (period.exact)
		return now.ns - antic->antic_start.ns >= period.amount;
	return now.ticks - antic->antic_start.ticks >= period.amount;
}

/* ---- Chains of tags ---- */

static void chain_add(struct antic *antic, struct antic_chain *chain, u32 tag, u32 before, u32 after)
{
	antic->slots[tag].before = before;
	antic->slots[tag].after = after;
	if (before == CORE_NONE)
		chain->head = tag;
	else
		antic->slots[before].after = tag;
	if (after == CORE_NONE)
		chain->tail = tag;
	else
		antic->slots[after].before = tag;
}

static void chain_remove(struct antic *antic, struct antic_chain *chain, u32 tag)
{
	u32 before = antic->slots[tag].before, after = antic->slots[tag].after;

	if (before == CORE_NONE)
		chain->head = after;
	else
		antic->slots[before].after = after;
	if (after == CORE_NONE)
		chain->tail = before;
	else
		antic->slots[after].before = before;
}

/* ---- The starts of a class ---- */

/* How many start below `sector`. */
static u32 starts_below(const struct antic *antic, const struct antic_class *class, u64 sector)
{
	u32 low = 0, high = class->nr;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (antic->slots[class->sorted[middle]].sector < sector)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The one that starts exactly at `sector`. */
static u32 starts_at(const struct antic *antic, const struct antic_class *class, u64 sector)
{
	u32 at = starts_below(antic, class, sector);

	if (at < class->nr && antic->slots[class->sorted[at]].sector == sector)
		return class->sorted[at];
	return CORE_NONE;
}

static void starts_insert(struct antic *antic, struct antic_class *class, u32 tag)
{
	u32 at = starts_below(antic, class, antic->slots[tag].sector);

	memmove(class->sorted + at + 1, class->sorted + at, (class->nr - at) * sizeof(*class->sorted));
	class->sorted[at] = tag;
	class->nr++;
}

static void starts_remove(struct antic *antic, struct antic_class *class, u32 tag)
{
	u32 at = starts_below(antic, class, antic->slots[tag].sector);

	class->nr--;
	memmove(class->sorted + at, class->sorted + at + 1, (class->nr - at) * sizeof(*class->sorted));
}

u64 antic_nearest(const struct antic *antic, u64 sector)
{
	const struct antic_class *class = &antic->classes[ANTIC_SYNC];
	u32 at = starts_below(antic, class, sector);
	u64 above, below;

	if (!at)
		return antic->slots[class->sorted[0]].sector;
	below = antic->slots[class->sorted[at - 1]].sector;
	if (at == class->nr)
		return below;
	above = antic->slots[class->sorted[at]].sector;
	return above - sector <= sector - below ? above : below;
}

/* ---- The one-way elevator with limited backward seek ---- */

static u64 end_of(const struct antic_slot *rq)
{
	return rq->sector + rq->nr_sectors;
}

/* The distance from the head; false where the elevator has to wrap. */
static bool distance(u64 sector, u64 last, u64 *out)
{
	if (sector >= last)
		*out = sector - last;
	else if (core_add(sector, BACK_SECTORS) >= last)
		*out = core_mul(last - sector, BACK_PENALTY);
	else
		return false;
	return true;
}

/* Which of two requests the arm at `last` should serve first; either may be CORE_NONE. */
static u32 choose(const struct antic *antic, u32 a, u32 b, u64 last)
{
	u64 one, two, near = 0, far = 0;
	bool ahead, behind;

	if (a == CORE_NONE || b == CORE_NONE)
		return a == CORE_NONE ? b : a;
	one = antic->slots[a].sector;
	two = antic->slots[b].sector;
	ahead = distance(one, last, &near);
	behind = distance(two, last, &far);
	if (ahead != behind)
		return ahead ? a : b;
	if (!ahead)
		return one <= two ? a : b;
	/* On equal distance the higher sector, which is the one in front of the head. */
	return near < far || (near == far && one >= two) ? a : b;
}

/* The one to serve after `tag`, which is among the starts: its successor, or the lowest, against its predecessor. */
static u32 next_after(const struct antic *antic, u32 tag)
{
	const struct antic_slot *rq = &antic->slots[tag];
	const struct antic_class *class = &antic->classes[rq->sync];
	u32 at = starts_below(antic, class, rq->sector);
	u32 up = CORE_NONE, down = CORE_NONE;

	if (at + 1 < class->nr)
		up = class->sorted[at + 1];
	else if (class->nr > 1)
		up = class->sorted[0];
	if (at > 0)
		down = class->sorted[at - 1];
	return choose(antic, up, down, end_of(rq));
}

/* ---- Processes ---- */

static void meet(struct antic *antic, struct core_process *process)
{
	if (process->known)
		return;
	process->known = true;
	process->prev = NULL;
	process->next = antic->processes;
	if (process->next)
		process->next->prev = process;
	antic->processes = process;
}

static void part(struct antic *antic, struct core_process *process)
{
	if (process->next)
		process->next->prev = process->prev;
	if (process->prev)
		process->prev->next = process->next;
	else
		antic->processes = process->next;
	process->known = false;
}

static bool is_needed(const struct antic *antic, const struct core_process *process)
{
	return process->queued || process->listed || process->in_device || antic->who == process;
}

/* Lets go of the copy of a process that has ended, once nothing needs it. */
static void release(struct antic *antic, struct core_process *process)
{
	if (process && process->exited && !is_needed(antic, process))
		part(antic, process);
}

/* Room for a copy. Each one that is in use has a request or is waited for, and there are as many as tags and one. */
static struct core_process *departed(struct antic *antic)
{
	u32 at = 0;
	struct core_process *process;

	do {
		process = (struct core_process *)(void *)(antic->departed + antic->process_size * at++);
	} while (process->known);
	return process;
}

void antic_exited(void *core, u64 now, struct core_process *process)
{
	struct antic *antic = core;

	(void)now;
	if (!process->known)
		return;
	if (is_needed(antic, process)) {
		struct core_process *copy = departed(antic);
		u32 tag;

		memcpy(copy, process, antic->process_size);
		copy->exited = true;
		copy->known = false;
		meet(antic, copy);
		for (tag = 0; tag < antic->tags; tag++)
			if (antic->slots[tag].process == process)
				antic->slots[tag].process = copy;
		if (antic->who == process)
			antic->who = copy;
	}
	part(antic, process);
	memset(process, 0, antic->process_size);
}

/* ---- History ---- */

static void raise(u64 *probability)
{
	*probability = (7 * *probability + ONE) / 8;
}

static void lower(u64 *probability)
{
	*probability = 7 * *probability / 8;
}

static void mean_add(struct antic_mean *mean, u64 value, bool half_of_samples)
{
	mean->samples = (7 * mean->samples + ONE) / 8;
	mean->total = (7 * mean->total + ONE * value) / 8;
	mean->mean = core_div(mean->total + (half_of_samples ? mean->samples / 2 : ONE / 2), mean->samples);
}

static void add_think(struct antic *antic, struct core_process *process, u64 ticks)
{
	struct antic_newcomers *newcomers = &antic->newcomers;

	if (!process->think.samples) {
		newcomers->think_total = (7 * newcomers->think_total + ONE * ticks) / 8;
		newcomers->think_mean = newcomers->think_total / ONE;
		lower(&newcomers->exit_prob);
	}
	mean_add(&process->think, ticks, false);
}

static void add_seek(struct antic *antic, struct core_process *process, u64 sectors)
{
	struct antic_newcomers *newcomers = &antic->newcomers;
	u64 slack;

	if (!process->seek.samples) {
		newcomers->seek_total = (7 * newcomers->seek_total + ONE * sectors) / 8;
		newcomers->seek_mean = newcomers->seek_total / ONE;
	}
	/* One stray request (a page fault, a fragment) must not spoil the mean. */
	slack = process->seek.samples <= 60 ? 2 * 1024 * 1024 : 2 * 1024 * 64;
	mean_add(&process->seek, core_min(sectors, 4 * process->seek.mean + slack), true);
}

/* A synchronous request joins what is known of a process: its own, or the one that it works together with. */
static void learn(struct antic *antic, struct antic_moment now, struct core_process *process, u64 sector, u64 end)
{
	u64 max_think = antic->hz >= 50 ? antic->hz / 50 - 1 : 0;
	bool known = process->io_started || process->io_running;
	bool idle = !process->queued && !process->listed;
	struct antic_arrival arrival = {
		.process = process,
		.now = now,
		.sector = sector,
		.first = !known,
		.ended = process->io_running,
		.nothing_outstanding = idle && !process->in_device,
		.last_end = process->last_end,
		.last_pos = process->last_pos,
	};

	if (known) {
		u64 thought = 0;

		if (process->io_running && idle)
			thought = core_min(now.ticks - process->last_end.ticks, max_think);
		add_think(antic, process, thought);
		add_seek(antic, process, core_min(core_diff(sector, process->last_pos), MAX_DISTANCE));
	}
	process->last_pos = end;
	process->io_started = true;
	if (antic->rule->learn)
		antic->rule->learn(antic, &arrival);
}

/* A synchronous request of it is over: completed, or merged away. */
static void ended(struct core_process *process, struct antic_moment now)
{
	process->io_running = true;
	process->last_end = now;
}

/* ---- Anticipation ---- */

static bool is_waiting(const struct antic *antic)
{
	return antic->state == ANTIC_WAIT_REQ || antic->state == ANTIC_WAIT_NEXT;
}

bool antic_thinks_too_long(const struct antic *antic)
{
	const struct antic_newcomers *newcomers = &antic->newcomers;

	if (!antic->who->think.samples)
		return newcomers->think_mean > antic->antic_expire
			|| newcomers->exit_prob * newcomers->exit_no_coop > 128 * 256;
	return antic->who->think.mean > antic->antic_expire;
}

static void finish(struct antic *antic, u64 now_ns, enum antic_ending ending)
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
	antic->antic_ends = period_ends(antic, antic->rule->period(antic, antic->who));
	antic->state = ANTIC_WAIT_NEXT;
}

/* Begins to wait; the clock runs from the completion of the process's last request. */
static void start_waiting(struct antic *antic)
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
	return period_is_over(antic, antic->rule->period(antic, antic->who), now);
}

/* Whether a request is about as good as one of the awaited process; the longer the wait, the further off it may be. */
static bool is_close(struct antic *antic, struct antic_moment now, u64 next)
{
	const struct core_process *who = antic->who;
	u64 last = antic->classes[antic->dir].last_sector;
	u64 delay_ms = 0, window = CLOSE, expected;

	if (antic->state != ANTIC_OFF && antic->who_done)
		delay_ms = to_ms(antic, now.ticks - antic->antic_start.ticks);
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

/* Whether to wait instead of serving `candidate`, which may be CORE_NONE: the kernel's can_break_anticipation. */
static enum verdict judge(struct antic *antic, struct antic_moment now, u32 candidate, enum antic_asked asked)
{
	struct core_process *who = antic->who;
	const struct antic_slot *rq = candidate == CORE_NONE ? NULL : &antic->slots[candidate];
	struct antic_newcomers *newcomers = &antic->newcomers;

	if (rq && rq->process == who)
		return WANTED;
	if (antic->who_done && is_over(antic, now))
		return LATE;
	if (who->queued || who->listed)
		return WANTED;
	if (rq && rq->sync && is_close(antic, now, rq->sector)) {
		if (who->exited) {
			if (!who->think.samples)
				raise(&newcomers->exit_prob);
			lower(&newcomers->exit_no_coop);
		}
		learn(antic, now, who, rq->sector, end_of(rq));
		return WANTED;
	}
	if (who->exited) {
		if (!who->think.samples)
			raise(&newcomers->exit_prob);
		if (newcomers->exit_no_coop > 128)
			return HOPELESS;
	}
	return antic->rule->refuses(antic, now, asked) ? HOPELESS : WAIT;
}

/* The request of the awaited process has completed: from here on its think time counts. */
static void awaited_completed(struct antic *antic, struct antic_moment now)
{
	antic->antic_start = now;
	antic->who_done = true;
	if (antic->state == ANTIC_WAIT_REQ)
		start_timer(antic);
}

/* A request has been queued: is it what was waited for? */
static void arrived(struct antic *antic, struct antic_moment now, u32 tag)
{
	if (!is_waiting(antic))
		return;
	switch (judge(antic, now, tag, ANTIC_TO_GO_ON)) {
	case WAIT:
		break;
	case WANTED:
		finish(antic, now.ns, ANTIC_SUCCESS);
		break;
	case LATE:
		finish(antic, now.ns, ANTIC_FAILURE);
		break;
	case HOPELESS:
		finish(antic, now.ns, ANTIC_CALLED_OFF);
		break;
	}
}

void antic_on_timer(void *core, u64 now)
{
	struct antic *antic = core;

	if (antic->state != ANTIC_WAIT_NEXT || now < antic->antic_ends)
		return;
	if (!antic->who->think.samples)
		raise(&antic->newcomers.exit_prob);
	if (antic->who->exited)
		raise(&antic->newcomers.exit_no_coop);
	finish(antic, now, ANTIC_FAILURE);
}

/* ---- The way to the device ---- */

/* Out of the starts and the FIFO. */
static void take_out(struct antic *antic, u32 tag)
{
	struct antic_slot *rq = &antic->slots[tag];
	struct antic_class *class = &antic->classes[rq->sync];

	rq->process->queued--;
	if (class->next == tag)
		class->next = next_after(antic, tag);
	starts_remove(antic, class, tag);
	chain_remove(antic, &class->fifo, tag);
	if (antic->last_merge == tag)
		antic->last_merge = CORE_NONE;
}

/* Into the dispatch list, in circular ascending order from where the last one that left it ended. */
static void list_add_sorted(struct antic *antic, u32 tag)
{
	u64 boundary = antic->list_end, sector = antic->slots[tag].sector;
	u32 before = antic->list.tail;

	while (before != CORE_NONE) {
		u64 other = antic->slots[before].sector;

		if ((other < boundary) == (sector < boundary) ? other <= sector : other >= boundary)
			break;
		before = antic->slots[before].before;
	}
	chain_add(antic, &antic->list, tag, before,
		  before == CORE_NONE ? antic->list.head : antic->slots[before].after);
	antic->nr_listed++;
}

/* From the trees to the dispatch list: whoever was waited for, this is over. */
static void move_to_dispatch(struct antic *antic, u32 tag)
{
	struct antic_slot *rq = &antic->slots[tag];
	struct antic_class *class = &antic->classes[rq->sync];
	struct core_process *before = antic->who;

	if (is_waiting(antic))
		finish(antic, antic->antic_start.ns, ANTIC_CALLED_OFF);
	antic->state = ANTIC_OFF;
	class->last_sector = end_of(rq);
	if (rq->sync) {
		antic->who = rq->process;
	} else {
		antic->who = NULL;
		if (antic->writes_left)
			antic->writes_left--;
	}
	antic->who_done = false;
	class->next = next_after(antic, tag);
	take_out(antic, tag);
	list_add_sorted(antic, tag);
	rq->place = ANTIC_LISTED;
	rq->process->listed++;
	antic->nr_dispatched++;
	release(antic, before);
}

/* Among the starts. A request that starts at the same sector is pushed out to the dispatch list. */
static void plant(struct antic *antic, u32 tag)
{
	struct antic_class *class = &antic->classes[antic->slots[tag].sync];
	u32 alias = starts_at(antic, class, antic->slots[tag].sector);

	if (alias != CORE_NONE)
		move_to_dispatch(antic, alias);
	starts_insert(antic, class, tag);
}

/* ---- Batches ---- */

/* The oldest request of a class is too old. Looks once in an expiry interval at most: seeks to old requests cost too much. */
static bool fifo_expired(struct antic *antic, struct antic_moment now, u32 of)
{
	struct antic_class *class = &antic->classes[of];

	if (now.ticks - class->last_check < antic->fifo_expire[of])
		return false;
	class->last_check = now.ticks;
	return class->nr && now.ticks > antic->slots[class->fifo.head].expires;
}

static bool batch_expired(const struct antic *antic, struct antic_moment now)
{
	return !antic->changed && !antic->new_batch
		&& (now.ticks > antic->batch_expires || (antic->dir == ANTIC_ASYNC && !antic->writes_left));
}

/* Begins a new batch with the request; nothing goes out while the device still works on the one before. */
static u32 begin(struct antic *antic, struct antic_moment now, u32 tag)
{
	if (tag == CORE_NONE || !antic->changed)
		return tag;
	if (antic->nr_dispatched)
		return CORE_NONE;
	if (antic->dir == ANTIC_ASYNC)
		antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_ASYNC];
	else
		antic->new_batch = true;
	antic->changed = false;
	return tag;
}

/* An old request goes before the chosen one. */
static u32 unless_expired(struct antic *antic, struct antic_moment now, u32 chosen)
{
	if (chosen == CORE_NONE)
		return CORE_NONE;
	if (fifo_expired(antic, now, antic->dir))
		chosen = antic->classes[antic->dir].fifo.head;
	return begin(antic, now, chosen);
}

/* Switches classes, or goes on with the same one. The first request of the batch. */
static u32 start_batch(struct antic *antic, struct antic_moment now, bool reads, bool writes)
{
	const struct antic_class *class = &antic->classes[ANTIC_ASYNC];

	if (reads && !(writes && antic->dir == ANTIC_SYNC)) {
		if (antic->dir == ANTIC_ASYNC)
			antic->changed = true;
		antic->dir = ANTIC_SYNC;
		antic->classes[ANTIC_SYNC].last_check = now.ticks;
		return antic->classes[ANTIC_SYNC].fifo.head;
	}
	if (antic->dir == ANTIC_SYNC) {
		antic->changed = true;
		antic->new_batch = false;
	}
	antic->dir = ANTIC_ASYNC;
	antic->writes_left = antic->write_count;
	antic->write_idled = false;
	return antic->first_write ? class->fifo.head : class->next;
}

/* The request to move to the dispatch list; CORE_NONE: nothing there, waiting for a process, or for the device to drain. */
static u32 choose_next(struct antic *antic, struct antic_moment now)
{
	bool reads = antic->classes[ANTIC_SYNC].nr, writes = antic->classes[ANTIC_ASYNC].nr;

	if (antic->dir == ANTIC_ASYNC && !reads && (!antic->writes_left || !writes))
		antic->write_idled = true;
	if (!(reads || writes) || antic->changed || is_waiting(antic))
		return CORE_NONE;
	if (!(reads && writes && batch_expired(antic, now))) {
		u32 next = antic->classes[antic->dir].next;

		if (antic->dir == ANTIC_SYNC && antic->rule->is_on(antic)) {
			if (fifo_expired(antic, now, ANTIC_SYNC))
				return begin(antic, now, antic->classes[ANTIC_SYNC].fifo.head);
			if (antic->who && antic->state != ANTIC_FINISHED
			    && judge(antic, now, next, ANTIC_TO_BEGIN) == WAIT) {
				start_waiting(antic);
				return CORE_NONE;
			}
		}
		if (next != CORE_NONE) {
			/* Where nobody contends, the batch does not age. */
			if (reads && !writes)
				antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_SYNC];
			return unless_expired(antic, now, next);
		}
	}
	return unless_expired(antic, now, start_batch(antic, now, reads, writes));
}

/*
 * Fits the number of writes in a batch to what the last one took: measured when the first synchronous request after it has
 * completed.
 */
static void update_write_count(struct antic *antic, struct antic_moment now)
{
	u64 batch = antic->batch_expire[ANTIC_ASYNC];
	u64 until = now.ticks + batch;
	u64 took = until > antic->batch_expires ? until - antic->batch_expires : 0;

	if (took > batch && !antic->write_idled) {
		if (took > 3 * batch)
			antic->write_count /= 2;
		else
			antic->write_count--;
	} else if (took < batch && !antic->writes_left) {
		if (batch > 3 * took)
			antic->write_count = core_mul(antic->write_count, 2);
		else
			antic->write_count = core_add(antic->write_count, 1);
	}
	antic->write_count = core_max(antic->write_count, 1);
}

/* A drained device begins the new batch, whose first completion sets its deadline. */
static void batch_completed(struct antic *antic, struct antic_moment now, u32 class)
{
	if (antic->changed && antic->nr_dispatched == 1) {
		antic->changed = false;
		if (antic->dir == ANTIC_SYNC)
			antic->new_batch = true;
		if (antic->drain)
			antic->batch_expires = now.ticks + antic->batch_expire[antic->dir];
	}
	antic->nr_dispatched--;
	if (antic->new_batch && antic->dir == class) {
		update_write_count(antic, now);
		antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_SYNC];
		antic->new_batch = false;
	}
}

/* ---- Hooks ---- */

/* A request that does not pass through the trees: one that the device gave back, or one that must go first. */
static void insert_at_head(struct antic *antic, const struct core_request *rq)
{
	struct antic_slot *slot = &antic->slots[rq->tag];

	if (slot->place == ANTIC_DEVICE) {
		/* Whose it is is known, and the record may be gone. */
		slot->process->in_device--;
	} else {
		meet(antic, rq->process);
		slot->process = rq->process;
		antic->nr_dispatched++;
	}
	slot->process->listed++;
	slot->sector = rq->sector;
	slot->seq = rq->seq;
	slot->nr_sectors = rq->nr_sectors;
	slot->write = rq->write;
	slot->sync = rq->sync;
	slot->place = ANTIC_LISTED;
	chain_add(antic, &antic->list, rq->tag, CORE_NONE, antic->list.head);
	antic->nr_listed++;
}

void antic_insert(void *core, u64 now_ns, const struct core_request *rq, bool at_head)
{
	struct antic *antic = core;
	struct antic_moment now = moment(antic, now_ns);
	struct antic_slot *slot = &antic->slots[rq->tag];
	struct antic_class *class = &antic->classes[rq->sync];

	if (at_head) {
		insert_at_head(antic, rq);
		return;
	}
	meet(antic, rq->process);
	if (rq->sync)
		learn(antic, now, rq->process, rq->sector, rq->sector + rq->nr_sectors);
	rq->process->queued++;
	slot->process = rq->process;
	slot->sector = rq->sector;
	slot->seq = rq->seq;
	slot->nr_sectors = rq->nr_sectors;
	slot->write = rq->write;
	slot->sync = rq->sync;
	slot->place = ANTIC_QUEUED;
	slot->expires = now.ticks + antic->fifo_expire[rq->sync];
	plant(antic, rq->tag);
	chain_add(antic, &class->fifo, rq->tag, class->fifo.tail, CORE_NONE);
	class->next = choose(antic, rq->tag, class->next, class->last_sector);
	if (antic->last_merge == CORE_NONE)
		antic->last_merge = rq->tag;
	arrived(antic, now, rq->tag);
}

u32 antic_dispatch(void *core, u64 now)
{
	struct antic *antic = core;
	struct antic_slot *rq;
	u32 tag;

	if (antic->list.head == CORE_NONE) {
		tag = choose_next(antic, moment(antic, now));
		if (tag == CORE_NONE)
			return CORE_NONE;
		move_to_dispatch(antic, tag);
	}
	tag = antic->list.head;
	rq = &antic->slots[tag];
	chain_remove(antic, &antic->list, tag);
	antic->nr_listed--;
	antic->list_end = end_of(rq);
	rq->place = ANTIC_DEVICE;
	rq->process->listed--;
	rq->process->in_device++;
	return tag;
}

void antic_complete(void *core, u64 now_ns, u32 tag)
{
	struct antic *antic = core;
	struct antic_moment now = moment(antic, now_ns);
	struct antic_slot *rq = &antic->slots[tag];
	struct core_process *process = rq->process;

	rq->place = ANTIC_NOWHERE;
	rq->process = NULL;
	batch_completed(antic, now, rq->sync);
	process->in_device--;
	if (antic->who == process)
		awaited_completed(antic, now);
	if (rq->sync)
		ended(process, now);
	release(antic, process);
}

u32 antic_held(const void *core)
{
	const struct antic *antic = core;

	return antic->classes[ANTIC_ASYNC].nr + antic->classes[ANTIC_SYNC].nr + antic->nr_listed;
}

u64 antic_next_timer(const void *core)
{
	const struct antic *antic = core;

	return antic->state == ANTIC_WAIT_NEXT ? antic->antic_ends : CORE_NEVER;
}

bool antic_may_exceed(const void *core, const struct core_process *process)
{
	const struct antic *antic = core;

	return is_waiting(antic) && antic->who == process;
}

bool antic_allow_merge(const void *core, u32 tag, const struct core_request *piece, enum core_merge how)
{
	const struct antic *antic = core;
	const struct antic_slot *rq = &antic->slots[tag];

	if (rq->place != ANTIC_QUEUED)
		return false;
	if (how == CORE_BACK_MERGE || antic->front_merge || antic->last_merge == tag)
		return true;
	/* Trees are indexed by sync = 1, but the kernel looks into the one indexed by the direction, write = 1. */
	return rq->sync == piece->write;
}

/* Of two classes, each can hold one that starts there: the younger. */
u32 antic_find_front_merge(void *core, const struct core_request *piece, u32 max_sectors)
{
	const struct antic *antic = core;
	u32 found = CORE_NONE, of;

	for (of = 0; of < ANTIC_CLASSES; of++) {
		u32 tag = starts_at(antic, &antic->classes[of], piece->sector + piece->nr_sectors);
		const struct antic_slot *rq;

		if (tag == CORE_NONE)
			continue;
		rq = &antic->slots[tag];
		if (rq->write != piece->write || (u64)rq->nr_sectors + piece->nr_sectors > max_sectors
		    || !antic_allow_merge(core, tag, piece, CORE_FRONT_MERGE))
			continue;
		if (found == CORE_NONE || rq->seq > antic->slots[found].seq)
			found = tag;
	}
	return found;
}

void antic_merged(void *core, u64 now, const struct core_request *after)
{
	struct antic *antic = core;
	struct antic_slot *rq = &antic->slots[after->tag];

	(void)now;
	antic->last_merge = after->tag;
	starts_remove(antic, &antic->classes[rq->sync], after->tag);
	/* A request stays in its class and with its process, whatever joined it. */
	rq->sector = after->sector;
	rq->nr_sectors = after->nr_sectors;
	plant(antic, after->tag);
}

void antic_coalesced(void *core, u64 now, u32 survivor, u32 gone)
{
	struct antic *antic = core;
	struct antic_slot *one = &antic->slots[survivor], *two = &antic->slots[gone];
	struct core_process *process = two->process;

	if (two->expires < one->expires && one->sync == two->sync) {
		struct antic_chain *fifo = &antic->classes[one->sync].fifo;

		chain_remove(antic, fifo, survivor);
		chain_add(antic, fifo, survivor, two->before, gone);
		one->expires = two->expires;
	}
	take_out(antic, gone);
	two->place = ANTIC_NOWHERE;
	two->process = NULL;
	antic->last_merge = survivor;
	/* Its process is let go of as if it had completed. */
	if (two->sync)
		ended(process, moment(antic, now));
	release(antic, process);
}

/* ---- Tunables, sizes and beginnings ---- */

u64 antic_get(const void *core, u32 tunable)
{
	const struct antic *antic = core;

	switch (tunable) {
	case ANTIC_READ_EXPIRE:
		return to_ms(antic, antic->fifo_expire[ANTIC_SYNC]);
	case ANTIC_WRITE_EXPIRE:
		return to_ms(antic, antic->fifo_expire[ANTIC_ASYNC]);
	case ANTIC_READ_BATCH_EXPIRE:
		return to_ms(antic, antic->batch_expire[ANTIC_SYNC]);
	case ANTIC_WRITE_BATCH_EXPIRE:
		return to_ms(antic, antic->batch_expire[ANTIC_ASYNC]);
	case ANTIC_ANTIC_EXPIRE:
		return to_ms(antic, antic->antic_expire);
	case ANTIC_DRAIN:
		return antic->drain;
	case ANTIC_FRONT_MERGE:
		return antic->front_merge;
	default:
		return antic->first_write;
	}
}

void antic_set(void *core, u32 tunable, u64 value)
{
	struct antic *antic = core;

	switch (tunable) {
	case ANTIC_READ_EXPIRE:
		antic->fifo_expire[ANTIC_SYNC] = from_ms(antic, value);
		break;
	case ANTIC_WRITE_EXPIRE:
		antic->fifo_expire[ANTIC_ASYNC] = from_ms(antic, value);
		break;
	case ANTIC_READ_BATCH_EXPIRE:
		antic->batch_expire[ANTIC_SYNC] = from_ms(antic, value);
		break;
	case ANTIC_WRITE_BATCH_EXPIRE:
		antic->batch_expire[ANTIC_ASYNC] = from_ms(antic, value);
		break;
	case ANTIC_ANTIC_EXPIRE:
		antic->antic_expire = from_ms(antic, value);
		break;
	case ANTIC_DRAIN:
		antic->drain = value;
		break;
	case ANTIC_FRONT_MERGE:
		antic->front_merge = value;
		break;
	default:
		antic->first_write = value;
		break;
	}
}

void antic_anticipation(const void *core, struct core_anticipation *out)
{
	const struct antic *antic = core;

	*out = antic->counts;
}

static size_t rounded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* The member's own state, the slots, the starts of either class, and room for processes that have ended. */
size_t antic_state_size(u32 tags, size_t own_size, size_t process_size)
{
	return rounded(own_size) + tags * sizeof(struct antic_slot)
		+ ANTIC_CLASSES * rounded(tags * sizeof(u32)) + ((size_t)tags + 1) * rounded(process_size);
}

void antic_init(struct antic *antic, const struct core_config *config, const struct antic_rule *rule,
		size_t own_size, size_t process_size)
{
	u8 *memory = (u8 *)antic + rounded(own_size);
	u32 hz = config->hz, of;

	antic->rule = rule;
	antic->tags = config->tags;
	antic->hz = hz;
	antic->process_size = rounded(process_size);
	antic->fifo_expire[ANTIC_SYNC] = hz / 8;
	antic->fifo_expire[ANTIC_ASYNC] = hz / 4;
	antic->batch_expire[ANTIC_SYNC] = hz / 2;
	antic->batch_expire[ANTIC_ASYNC] = hz / 8;
	antic->antic_expire = core_max(hz / 150, 1);
	antic->slots = (struct antic_slot *)(void *)memory;
	memory += config->tags * sizeof(struct antic_slot);
	for (of = 0; of < ANTIC_CLASSES; of++) {
		struct antic_class *class = &antic->classes[of];

		class->sorted = (u32 *)(void *)memory;
		memory += rounded(config->tags * sizeof(u32));
		class->fifo = (struct antic_chain){ CORE_NONE, CORE_NONE };
		class->next = CORE_NONE;
	}
	antic->departed = memory;
	antic->list = (struct antic_chain){ CORE_NONE, CORE_NONE };
	antic->last_merge = CORE_NONE;
	antic->dir = ANTIC_ASYNC;
	antic->batch_expires = antic->batch_expire[ANTIC_SYNC];
	antic->write_count = core_max(antic->batch_expire[ANTIC_ASYNC] / 10, 2);
}
