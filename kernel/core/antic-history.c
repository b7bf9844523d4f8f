// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Per-process history, and averages for processes without one. See antic.c. */
#include "antic-parts.h"

/* Larger than any disk. Keeps sums below 2^64. */
#define MAX_DISTANCE (1ull << 48)

void antic_track_process(struct antic *antic, struct core_process *process)
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

static void untrack_process(struct antic *antic, struct core_process *process)
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
	return process->queued || process->listed || process->in_device || antic->awaited == process;
}

void antic_release(struct antic *antic, struct core_process *process)
{
	if (process && process->exited && !is_needed(antic, process))
		untrack_process(antic, process);
}

/*
 * One is always free: each used record belongs to a process with requests or to the awaited one,
 * and there are tags + 1.
 */
static struct core_process *alloc_exited_record(struct antic *antic)
{
	u32 at = 0;
	struct core_process *process;

	do {
		process = (void *)(antic->exited_records + antic->process_size * at++);
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
		struct core_process *copy = alloc_exited_record(antic);
		u32 tag;

		memcpy(copy, process, antic->process_size);
		copy->exited = true;
		copy->known = false;
		antic_track_process(antic, copy);
		for (tag = 0; tag < antic->tags; tag++)
			if (antic->slots[tag].process == process)
				antic->slots[tag].process = copy;
		if (antic->awaited == process)
			antic->awaited = copy;
	}
	untrack_process(antic, process);
	memset(process, 0, antic->process_size);
}

static void mean_add(struct antic_mean *mean, u64 value, bool half_of_samples)
{
	u64 half;

	mean->samples = (7 * mean->samples + ONE) / 8;
	mean->total = (7 * mean->total + ONE * value) / 8;
	half = half_of_samples ? mean->samples / 2 : ONE / 2;
	mean->mean = core_div(mean->total + half, mean->samples);
}

/* as_update_thinktime() of 2.6.20 */
static void add_think(struct antic *antic, struct core_process *process, u64 ticks)
{
	struct antic_newcomers *newcomers = &antic->newcomers;

	if (!process->think.samples) {
		newcomers->think_total = (7 * newcomers->think_total + ONE * ticks) / 8;
		newcomers->think_mean = newcomers->think_total / ONE;
		antic_lower(&newcomers->exit_prob);
	}
	mean_add(&process->think, ticks, false);
}

/* as_update_seekdist() of 2.6.20 */
static void add_seek(struct antic *antic, struct core_process *process, u64 sectors)
{
	struct antic_newcomers *newcomers = &antic->newcomers;
	u64 slack;

	if (!process->seek.samples) {
		newcomers->seek_total = (7 * newcomers->seek_total + ONE * sectors) / 8;
		newcomers->seek_mean = newcomers->seek_total / ONE;
	}
	/* A stray request must not dominate the mean. */
	slack = process->seek.samples <= 60 ? 2 * 1024 * 1024 : 2 * 1024 * 64;
	mean_add(&process->seek, core_min(sectors, 4 * process->seek.mean + slack), true);
}

void antic_learn(struct antic *antic, struct antic_moment now, struct core_process *process,
		 u64 sector, u64 end)
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
		u64 moved = core_diff(sector, process->last_pos), thought = 0;

		if (process->io_running && idle)
			thought = core_min(now.ticks - process->last_end.ticks, max_think);
		add_think(antic, process, thought);
		add_seek(antic, process, core_min(moved, MAX_DISTANCE));
	}
	process->last_pos = end;
	process->io_started = true;
	if (antic->rule->learn)
		antic->rule->learn(antic, &arrival);
}

void antic_request_ended(struct core_process *process, struct antic_moment now)
{
	process->io_running = true;
	process->last_end = now;
}
