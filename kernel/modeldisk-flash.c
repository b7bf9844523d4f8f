// SPDX-License-Identifier: GPL-2.0
/*
 * What the flash model needs of the kernel. A device's large tables are made when its power is
 * switched on. Its queues grow later, with interrupts disabled, by a few kilobytes.
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/disk-flash.h"

/* Memory that could not be freed with interrupts disabled. */
static LLIST_HEAD(released);

static void free_released(void)
{
	struct llist_node *node, *next;

	llist_for_each_safe(node, next, llist_del_all(&released))
		kvfree(node);
}

void *modeldisk_flash_alloc(size_t size, size_t align)
{
	/* kmalloc() aligns powers of two to their size. */
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(max(size, align));
	if (irqs_disabled())
		return kmalloc(size, GFP_ATOMIC);
	free_released();
	return kvmalloc(size, GFP_KERNEL);
}

void modeldisk_flash_release(void *memory)
{
	if (irqs_disabled() && is_vmalloc_addr(memory)) {
		llist_add(memory, &released);
		return;
	}
	kvfree(memory);
	if (!irqs_disabled())
		free_released();
}

void modeldisk_flash_panic(const char *file, size_t len, u32 line)
{
	panic("modeldisk: the flash model failed at %.*s:%u\n", (int)len, file, line);
}
