/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The flash model in Rust (kernel/flash/flash.rs), which is linked as an object, and what it needs
 * of its surroundings.
 *
 * A call that makes or drops a device may sleep. During the others, which are made with interrupts
 * disabled, the model may ask for memory.
 */
#ifndef SCHEDLAB_CORE_DISK_FLASH_H
#define SCHEDLAB_CORE_DISK_FLASH_H

#include "types.h"

struct flash;

struct flash_counters {
	u64 cached_writes, moved_pages, erases, programs, suspends;
};

/*
 * Whether a device with these sectors and this queue depth can be made from the numbers after the
 * head of the tables.
 */
bool flash_check(const u8 *numbers, size_t len, u64 sectors, u64 depth);
/* NULL if not. */
struct flash *flash_new(const u8 *numbers, size_t len);
void flash_drop(struct flash *flash);
void flash_transfer(struct flash *flash, u64 now, u32 tag, bool write, u64 sector, u32 nr_sectors);
void flash_flush(struct flash *flash, u64 now, u32 tag);
/* ~0ull: nothing happens without another command. */
u64 flash_next_event(const struct flash *flash);
void flash_advance(struct flash *flash, u64 now,
		   void (*done)(void *ctx, u32 tag, bool flush, u64 at), void *ctx);
void flash_counters(const struct flash *flash, struct flash_counters *counters);

/* modeldisk-flash.c */
void *modeldisk_flash_alloc(size_t size, size_t align);
void modeldisk_flash_release(void *memory);
void modeldisk_flash_panic(const char *file, size_t len, u32 line) __attribute__((noreturn));

#endif
