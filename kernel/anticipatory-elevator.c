// SPDX-License-Identifier: GPL-2.0
/*
 * The elevator `anticipatory`: core/anticipatory.c behind the glue. (A module of several files
 * cannot have one of its own name, so this makes anticipatory-iosched.ko.)
 */
#include "iosched-glue.c"

static int __init anticipatory_init(void)
{
	return iosched_register(&core_anticipatory, NULL);
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
