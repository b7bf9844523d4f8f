// SPDX-License-Identifier: GPL-2.0
/*
 * occupancy-iosched.ko: the elevator of core/occupancy.c. It has nothing to set: it learns the
 * device. Loaded with internal=1, it also shows the switches of its rules and its constants, for
 * experiments.
 */
#include <linux/moduleparam.h>

#include "iosched.h"

static bool internal;
module_param(internal, bool, 0444);
MODULE_PARM_DESC(internal, "Show switches and constants in sysfs (default: N)");

static int __init occupancy_init(void)
{
	return iosched_register(&core_occupancy, NULL, internal);
}

static void __exit occupancy_exit(void)
{
	iosched_unregister();
}

module_init(occupancy_init);
module_exit(occupancy_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("schedlab");
MODULE_DESCRIPTION("I/O scheduler for blk-mq that shares the learned time of the device");
