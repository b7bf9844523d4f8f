/* SPDX-License-Identifier: GPL-2.0 */
/* All differences between the versions of Linux that the modules are built for. */
#ifndef SCHEDLAB_COMPAT_H
#define SCHEDLAB_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* 6.13 sets a timer's function when it is set up, 6.15 knows no other way. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#else
#define compat_hrtimer_setup hrtimer_setup
#endif

#endif
