// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A device with measured latencies. Port of crates/sim/src/device/measured.rs. */
#include "disk-inside.h"
#include "disk-model.h"
#include "disk-random.h"

#define MOST_NS		60000000000ull
#define MILLION		1000000u
#define MOST_SHARES	64u
#define MOST_SIZES	16u
#define MOST_DEPTHS	16u
#define MOST_BESIDE	64u
#define MOST_PERCENT	10000u

/* After the head: flush_ns, four lengths, key and stream, then the lists. */
#define LISTS		(DISK_HEAD + 5 * 8 + CHACHA_TABLE)

struct measured_disk {
	struct core_disk disk;
	const u8 *shares, *sizes, *depths, *beside, *reads, *writes;
	u32 nr_shares, nr_sizes, nr_depths, nr_beside;
	u64 flush_ns;
	u32 nr_inside, nr_writes;
	u64 arrivals;
	struct inside *inside;
	struct chacha random;
};

static const struct measured_disk *measured_of(const struct core_disk *disk)
{
	return (const struct measured_disk *)(const void *)disk;
}

static u64 number(const u8 *list, u32 at)
{
	return disk_le64(list + 8 * (size_t)at);
}

static bool grows(const u8 *list, u32 nr, u64 by, u64 most)
{
	u32 at;

	for (at = 0; at < nr; at++)
		if (number(list, at) > most || (at && number(list, at) < number(list, at - 1) + by))
			return false;
	return true;
}

static size_t measured_size(const u8 *tables, size_t len)
{
	const u8 *own = tables + DISK_HEAD, *list = tables + LISTS;
	u64 shares, sizes, depths, beside, depth = disk_le64(tables + DISK_DEPTH_AT);
	u32 at;

	if (len < LISTS)
		return 0;
	shares = disk_le64(own + 8);
	sizes = disk_le64(own + 16);
	depths = disk_le64(own + 24);
	beside = disk_le64(own + 32);
	if (disk_le64(own) > MOST_NS || shares < 2 || shares > MOST_SHARES || sizes < 1 ||
	    sizes > MOST_SIZES || depths < 1 || depths > MOST_DEPTHS || beside < 1 ||
	    beside > MOST_BESIDE)
		return 0;
	if (len != LISTS + 8 * (shares + sizes + depths + beside + 2 * sizes * depths * shares))
		return 0;
	if (!grows(list, (u32)shares, 1, MILLION) || number(list, 0) ||
	    number(list, (u32)shares - 1) != MILLION)
		return 0;
	list += 8 * shares;
	if (!grows(list, (u32)sizes, 1, DISK_MAX_SECTORS) || !number(list, 0))
		return 0;
	list += 8 * sizes;
	if (!grows(list, (u32)depths, 1, 65535) || !number(list, 0))
		return 0;
	list += 8 * depths;
	for (at = 0; at < beside; at++)
		if (number(list, at) > MOST_PERCENT)
			return 0;
	list += 8 * beside;
	for (at = 0; at < 2 * sizes * depths; at++, list += 8 * shares)
		if (!grows(list, (u32)shares, 0, MOST_NS))
			return 0;
	return sizeof(struct measured_disk) + (size_t)(2 * depth + DISK_FLUSHES) *
		sizeof(struct inside);
}

static void measured_init(struct core_disk *disk, const u8 *tables)
{
	struct measured_disk *of = (struct measured_disk *)(void *)disk;
	const u8 *own = tables + DISK_HEAD;

	of->flush_ns = disk_le64(own);
	of->nr_shares = (u32)disk_le64(own + 8);
	of->nr_sizes = (u32)disk_le64(own + 16);
	of->nr_depths = (u32)disk_le64(own + 24);
	of->nr_beside = (u32)disk_le64(own + 32);
	chacha_init(&of->random, own + 40);
	of->shares = tables + LISTS;
	of->sizes = of->shares + 8 * of->nr_shares;
	of->depths = of->sizes + 8 * of->nr_sizes;
	of->beside = of->depths + 8 * of->nr_depths;
	of->reads = of->beside + 8 * of->nr_beside;
	of->writes = of->reads + 8 * of->nr_sizes * of->nr_depths * of->nr_shares;
	of->inside = (struct inside *)(void *)(of + 1);
}

/* The first element not below @x, or @nr. */
static u32 place(const u8 *list, u32 nr, u64 x)
{
	u32 at;

	for (at = 0; at < nr; at++)
		if (number(list, at) >= x)
			break;
	return at;
}

static u64 between(const u8 *list, u32 above, u64 x, u64 below_ns, u64 above_ns)
{
	u64 x0 = number(list, above - 1), x1 = number(list, above);

	if (above_ns >= below_ns)
		return below_ns + disk_div((above_ns - below_ns) * (x - x0), x1 - x0);
	return below_ns - disk_div((below_ns - above_ns) * (x - x0), x1 - x0);
}

/* Proportional beyond a list's end. */
static u64 beyond(const u8 *list, u32 nr, u64 x, u64 last_ns)
{
	return disk_min(disk_div(last_ns * x, number(list, nr - 1)), MOST_NS);
}

struct drawn {
	u32 column;
	u64 part;
};

static u64 of_row(const struct measured_disk *of, const u8 *rows, u32 size, u32 depth,
		  struct drawn drawn)
{
	u32 at = (size * of->nr_depths + depth) * of->nr_shares + drawn.column;
	u64 low = number(rows, at), high = number(rows, at + 1);

	return low + ((high - low) * drawn.part >> 20);
}

static u64 of_size(const struct measured_disk *of, const u8 *rows, u32 size, u64 depth,
		   struct drawn drawn)
{
	u32 above = place(of->depths, of->nr_depths, depth);

	if (above == of->nr_depths)
		return beyond(of->depths, of->nr_depths, depth,
			      of_row(of, rows, size, above - 1, drawn));
	if (!above || number(of->depths, above) == depth)
		return of_row(of, rows, size, above, drawn);
	return between(of->depths, above, depth, of_row(of, rows, size, above - 1, drawn),
		       of_row(of, rows, size, above, drawn));
}

static u64 draw(const struct measured_disk *of, bool write, u64 sectors, u64 depth, u64 bits)
{
	const u8 *rows = write ? of->writes : of->reads;
	u64 share = (bits >> 32) * MILLION, low, high;
	u32 above = place(of->sizes, of->nr_sizes, sectors);
	struct drawn drawn = { 0, 0 };

	while (drawn.column + 2 < of->nr_shares && number(of->shares, drawn.column + 1) << 32 <= share)
		drawn.column++;
	low = number(of->shares, drawn.column) << 32;
	high = number(of->shares, drawn.column + 1) << 32;
	drawn.part = disk_min(disk_div(share - low, (high - low) >> 20), (1 << 20) - 1);
	if (above == of->nr_sizes)
		return beyond(of->sizes, of->nr_sizes, sectors,
			      of_size(of, rows, above - 1, depth, drawn));
	if (!above || number(of->sizes, above) == sectors)
		return of_size(of, rows, above, depth, drawn);
	return between(of->sizes, above, sectors, of_size(of, rows, above - 1, depth, drawn),
		       of_size(of, rows, above, depth, drawn));
}

static void measured_transfer(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
			      u32 nr)
{
	struct measured_disk *of = (struct measured_disk *)(void *)disk;
	u64 took = draw(of, write, nr, disk->transfers, random_bits(&of->random));
	u32 beside = of->nr_writes < of->nr_beside ? of->nr_writes : of->nr_beside - 1;

	(void)sector;
	if (write)
		of->nr_writes++;
	else
		took = disk_div(took * number(of->beside, beside), 100);
	put_inside(of->inside, &of->nr_inside,
		   (struct inside){ now + took, of->arrivals++, tag, false, write });
}

static void measured_flush(struct core_disk *disk, u64 now, u32 tag)
{
	struct measured_disk *of = (struct measured_disk *)(void *)disk;

	put_inside(of->inside, &of->nr_inside,
		   (struct inside){ now + of->flush_ns, of->arrivals++, tag, true, false });
}

static u64 measured_next_event(const struct core_disk *disk)
{
	const struct measured_disk *of = measured_of(disk);

	return of->nr_inside ? of->inside[0].at : CORE_DISK_NEVER;
}

static void measured_event(struct core_disk *disk, u64 at, const struct disk_sink *sink)
{
	struct measured_disk *of = (struct measured_disk *)(void *)disk;
	struct inside first = take_inside(of->inside, &of->nr_inside);

	if (first.write)
		of->nr_writes--;
	disk_done(disk, sink, first.tag, first.flush, at);
}

static bool never(const struct core_disk *disk)
{
	(void)disk;
	return false;
}

static bool flushes(const struct core_disk *disk)
{
	return measured_of(disk)->flush_ns > 0;
}

const struct disk_model disk_measured = {
	.size = measured_size,
	.init = measured_init,
	.transfer = measured_transfer,
	.flush = measured_flush,
	.next_event = measured_next_event,
	.event = measured_event,
	.has_arm = never,
	.has_volatile_cache = flushes,
};
