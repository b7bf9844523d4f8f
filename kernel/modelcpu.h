/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modelcpu: virtual CPU time for programs in a guest, and what the CPU scheduler did with them.
 */
#ifndef MODELCPU_H
#define MODELCPU_H

#include <linux/types.h>

/* Entry of debugfs' modelcpu/log; read by crates/recorder/src/perfetto/run_queue.rs. */
enum modelcpu_event {
	MODELCPU_SWITCH = 0,
	MODELCPU_WAKEUP = 1,
	MODELCPU_WAKEUP_NEW = 2,
};

struct modelcpu_record {
	u64 time_ns;
	u32 event;
	/* Of a switch: prev's state as the tracepoint shows it, 0 if prev stays runnable. */
	u32 prev_state;
	s32 prev_pid;
	s32 prev_prio;
	/* Next, or the task that is woken. */
	s32 pid;
	s32 tgid;
	s32 prio;
	char comm[16];
	u32 cpu;
} __aligned(8);

/* Work at moments one interval apart; filled in by crates/load/src/cpu/clock.rs. */
struct modelcpu_periodic {
	/* The next moment, until the end, on the monotonic clock. */
	u64 next_ns;
	u64 end_ns;
	u64 interval_ns;
	/* Computing at each moment, and what is left of it at the last one. */
	u64 work_ns;
	u64 left_ns;
	/* Moments that passed before the task was ready for them. */
	u64 missed;
	u64 nr_late;
	u64 late_ns[];
};

int modelcpu_runqueue_start(void);
/* Makes the process group of the current task the measured program. */
void modelcpu_runqueue_begin(void);
void modelcpu_runqueue_end(void);

#endif
