// SPDX-License-Identifier: GPL-2.0
/* anticipatory-iosched.ko: the elevator of core/anticipatory.c. */
#include "iosched.h"

static int __init anticipatory_init(void)
{
	return iosched_register(&core_anticipatory, NULL, false);
}

static void __exit anticipatory_exit(void)
{
	iosched_unregister();
}

module_init(anticipatory_init);
module_exit(anticipatory_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("schedlab");
MODULE_DESCRIPTION("Anticipatory I/O scheduler, after Linux 2.6.20, for blk-mq");
