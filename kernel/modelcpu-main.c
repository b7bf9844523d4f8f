// SPDX-License-Identifier: GPL-2.0
/*
 * modelcpu: virtual CPU time for programs in a guest. In time travel, computing takes no time; a
 * program that reads a count of nanoseconds from /dev/modelcpu computes for so long instead.
 *
 * The task stays runnable, and is interrupted, preempted and throttled as in user mode: it
 * reschedules when the scheduler asks for it, whatever the kernel's preemption model, and returns
 * early for signals and task work, which are handled on the way to user mode.
 *
 * read() takes and returns 8 bytes: the nanoseconds to compute, then those that are left. The
 * caller repeats it until none are. No ioctl, so that programs need no unsafe code.
 *
 * With a longer buffer, a struct modelcpu_periodic, read() does the task's work at moments one
 * interval apart: sleep until the moment, compute, note how late it is. In user mode, each costs the
 * host a dozen system calls.
 *
 * write() of "begin" makes the writer's process group the measured program (modelcpu-runqueue.c),
 * "end" ends the measurement.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "modelcpu.h"

/* Added to arch/um/kernel/time.c by crates/guest/src/host_side.rs. */
unsigned long long time_travel_burn(unsigned long long ns);

static bool must_return(void)
{
	return signal_pending(current) || test_thread_flag(TIF_NOTIFY_RESUME);
}

/* As on every way to user mode. */
static void give_way(void)
{
	if (need_resched())
		schedule();
}

/* Computes for @left ns; returns what is left. */
static u64 compute(u64 left)
{
	while (left && !must_return()) {
		left -= min_t(u64, left, time_travel_burn(left));
		give_way();
	}
	return left;
}

/* As the system call of a sleep until a time; false if interrupted. */
static bool sleep_until(u64 ns)
{
	ktime_t moment = ns_to_ktime(ns);
	u64 slack = current->prio < MAX_RT_PRIO ? 0 : current->timer_slack_ns;

	set_current_state(TASK_INTERRUPTIBLE);
	return !schedule_hrtimeout_range(&moment, slack, HRTIMER_MODE_ABS);
}

static void run_periodic(struct modelcpu_periodic *work, u64 max_late)
{
	while (work->nr_late < max_late && work->next_ns < work->end_ns) {
		u64 late, passed;

		if (!work->left_ns) {
			if (must_return() || !sleep_until(work->next_ns))
				return;
			give_way();
			work->left_ns = work->work_ns;
		}
		work->left_ns = compute(work->left_ns);
		if (work->left_ns)
			return;
		/* Moments that have passed since are missed. */
		late = max_t(s64, ktime_get_ns() - work->next_ns, 0);
		give_way();
		passed = div64_u64(late, work->interval_ns);
		work->missed += passed;
		work->next_ns += (passed + 1) * work->interval_ns;
		work->late_ns[work->nr_late++] = late;
	}
}

static ssize_t read_periodic(char __user *buffer, size_t bytes)
{
	struct modelcpu_periodic *work;

	if (bytes < sizeof(*work) || bytes > PAGE_SIZE)
		return -EINVAL;
	work = memdup_user(buffer, bytes);
	if (IS_ERR(work))
		return PTR_ERR(work);
	work->nr_late = 0;
	if (work->interval_ns)
		run_periodic(work, (bytes - sizeof(*work)) / sizeof(work->late_ns[0]));
	if (copy_to_user(buffer, work, bytes))
		bytes = -EFAULT;
	kfree(work);
	return bytes;
}

static ssize_t modelcpu_read(struct file *file, char __user *buffer, size_t bytes, loff_t *pos)
{
	u64 left;

	if (bytes != sizeof(left))
		return read_periodic(buffer, bytes);
	if (copy_from_user(&left, buffer, sizeof(left)))
		return -EFAULT;
	left = compute(left);
	return copy_to_user(buffer, &left, sizeof(left)) ? -EFAULT : sizeof(left);
}

static ssize_t modelcpu_write(struct file *file, const char __user *buffer, size_t bytes,
			      loff_t *pos)
{
	char word[8] = "";

	if (bytes >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, buffer, bytes))
		return -EFAULT;
	if (!strcmp(word, "begin"))
		modelcpu_runqueue_begin();
	else if (!strcmp(word, "end"))
		modelcpu_runqueue_end();
	else
		return -EINVAL;
	return bytes;
}

static const struct file_operations modelcpu_fops = {
	.owner = THIS_MODULE,
	.open = stream_open,
	.read = modelcpu_read,
	.write = modelcpu_write,
};

static struct miscdevice modelcpu_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "modelcpu",
	.fops = &modelcpu_fops,
	.mode = 0666,
};

/* No exit: probes stay as long as the guest. */
static int __init modelcpu_init(void)
{
	int err = modelcpu_runqueue_start();

	return err ? err : misc_register(&modelcpu_device);
}
module_init(modelcpu_init);

MODULE_DESCRIPTION("virtual CPU time for programs of schedlab's kernel arena");
MODULE_LICENSE("GPL");
