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
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

/* Added to arch/um/kernel/time.c by crates/guest/src/host_side.rs. */
unsigned long long time_travel_burn(unsigned long long ns);

static bool must_return(void)
{
	return signal_pending(current) || test_thread_flag(TIF_NOTIFY_RESUME);
}

static ssize_t modelcpu_read(struct file *file, char __user *buffer, size_t bytes, loff_t *pos)
{
	u64 left;

	if (bytes != sizeof(left))
		return -EINVAL;
	if (copy_from_user(&left, buffer, sizeof(left)))
		return -EFAULT;
	while (left && !must_return()) {
		left -= min_t(u64, left, time_travel_burn(left));
		if (need_resched())
			schedule();
	}
	return copy_to_user(buffer, &left, sizeof(left)) ? -EFAULT : sizeof(left);
}

static const struct file_operations modelcpu_fops = {
	.owner = THIS_MODULE,
	.open = stream_open,
	.read = modelcpu_read,
};

static struct miscdevice modelcpu_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "modelcpu",
	.fops = &modelcpu_fops,
	.mode = 0666,
};

module_misc_device(modelcpu_device);

MODULE_DESCRIPTION("virtual CPU time for programs of schedlab's kernel arena");
MODULE_LICENSE("GPL");
