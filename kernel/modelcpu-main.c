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
 * write() of "begin" makes the writer's process group the measured program (modelcpu-runqueue.c),
 * "end" ends the measurement.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
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

static ssize_t modelcpu_read(struct file *file, char __user *buffer, size_t bytes, loff_t *pos)
{
	u64 left;

	if (bytes != sizeof(left))
		return -EINVAL;
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
