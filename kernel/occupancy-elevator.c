// SPDX-License-Identifier: GPL-2.0
/*
 * occupancy-iosched.ko: the elevator of core/occupancy.c. It has no parameters: it learns the
 * device.
 */
#include "iosched.h"

static int __init occupancy_init(void)
{
	return iosched_register(&core_occupancy, NULL);
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
