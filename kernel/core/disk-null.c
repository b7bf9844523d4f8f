// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The null device: a number of servers with constant or exponential service time, in order of
 * arrival. Port of crates/sim/src/device/null.rs, with its ChaCha8 and integer logarithm.
 */
#include "disk-inside.h"
#include "disk-model.h"
#include "disk-random.h"

#define TABLES_SIZE	(DISK_HEAD + 3 * 8 + CHACHA_TABLE)
#define MOST_SERVERS	4096u
#define MOST_SERVICE_NS	60000000000ull

struct null_disk {
	struct core_disk disk;
	u64 service_ns;
	bool exponential;
	u32 nr_servers, nr_inside;
	u64 arrivals;
	u64 *free_ns;		/* per server; a min-heap */
	struct inside *inside;
	struct chacha random;
};

static const struct null_disk *null_of(const struct core_disk *disk)
{
	return (const struct null_disk *)(const void *)disk;
}

static u64 product(u64 a, u64 b, u64 *high)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (u32)middle;

	*high = ah * bh + (middle >> 32) + (other >> 32);
	return other << 32 | (u32)low;
}

/* -ln(bits / 2^64) times the mean; exponential() of crates/sim/src/workload. */
static u64 exponential(u64 bits, u64 mean)
{
	u64 u = bits == ~0ull ? bits : bits + 1;
	u64 log2 = 63, high, low;
	int bit;

	for (; !(u >> 63); u <<= 1)
		log2--;
	for (bit = 0; bit < 32; bit++) {
		low = product(u, u, &high);
		log2 = log2 << 1 | high >> 63;
		u = high >> 63 ? high : high << 1 | low >> 63;
	}
	product((64ull << 32) - log2, 0xb17217f7d1cf79abull, &high);
	low = product(high, mean, &high);
	return high << 32 | low >> 32;
}

static void occupy_first(struct null_disk *null, u64 until_ns)
{
	u32 at = 0, child;

	for (; (child = 2 * at + 1) < null->nr_servers; at = child) {
		if (child + 1 < null->nr_servers && null->free_ns[child + 1] < null->free_ns[child])
			child++;
		if (null->free_ns[child] >= until_ns)
			break;
		null->free_ns[at] = null->free_ns[child];
	}
	null->free_ns[at] = until_ns;
}

static size_t null_size(const u8 *tables, size_t len)
{
	const u8 *own = tables + DISK_HEAD;
	u64 depth = disk_le64(tables + DISK_DEPTH_AT), servers;

	if (len != TABLES_SIZE)
		return 0;
	servers = disk_le64(own + 8);
	if (disk_le64(own) > MOST_SERVICE_NS || servers < 1 || servers > MOST_SERVERS ||
	    disk_le64(own + 16) > 1)
		return 0;
	return sizeof(struct null_disk) + (size_t)servers * sizeof(u64)
		+ (size_t)(2 * depth + DISK_FLUSHES) * sizeof(struct inside);
}

static void null_init(struct core_disk *disk, const u8 *tables)
{
	struct null_disk *null = (struct null_disk *)(void *)disk;
	const u8 *own = tables + DISK_HEAD;

	null->service_ns = disk_le64(own);
	null->nr_servers = (u32)disk_le64(own + 8);
	null->exponential = disk_le64(own + 16) == 1;
	chacha_init(&null->random, own + 24);
	null->free_ns = (u64 *)(void *)(null + 1);
	null->inside = (struct inside *)(void *)(null->free_ns + null->nr_servers);
}

static void null_transfer(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector, u32 nr)
{
	struct null_disk *null = (struct null_disk *)(void *)disk;
	u64 service = null->service_ns, done;

	(void)write;
	(void)sector;
	(void)nr;
	if (null->exponential)
		service = exponential(random_bits(&null->random), service);
	done = disk_max(null->free_ns[0], now) + service;
	occupy_first(null, done);
	put_inside(null->inside, &null->nr_inside,
		   (struct inside){ .at = done, .arrival = null->arrivals++, .tag = tag });
}

static void null_flush(struct core_disk *disk, u64 now, u32 tag)
{
	struct null_disk *null = (struct null_disk *)(void *)disk;

	put_inside(null->inside, &null->nr_inside,
		   (struct inside){ now, null->arrivals++, tag, true, false });
}

static u64 null_next_event(const struct core_disk *disk)
{
	const struct null_disk *null = null_of(disk);

	return null->nr_inside ? null->inside[0].at : CORE_DISK_NEVER;
}

static void null_event(struct core_disk *disk, u64 at, const struct disk_sink *sink)
{
	struct null_disk *null = (struct null_disk *)(void *)disk;
	struct inside first = take_inside(null->inside, &null->nr_inside);

	disk_done(disk, sink, first.tag, first.flush, at);
}

static bool never(const struct core_disk *disk)
{
	(void)disk;
	return false;
}

const struct disk_model disk_null = {
	.size = null_size,
	.init = null_init,
	.transfer = null_transfer,
	.flush = null_flush,
	.next_event = null_next_event,
	.event = null_event,
	.has_arm = never,
	.has_volatile_cache = never,
};
