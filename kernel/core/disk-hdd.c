// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A hard disk: an actuator, a segmented read cache with read-ahead, a write cache, and a queue that
 * the drive reorders. Port of crates/sim/src/device/hdd/{mod,reading,writing,choice}.rs, function
 * by function; the reasons are given there.
 */
#include "disk-hdd.h"

static struct hdd *hdd_of(struct core_disk *disk)
{
	return (struct hdd *)(void *)disk;
}

static const struct hdd *hdd_of_const(const struct core_disk *disk)
{
	return (const struct hdd *)(const void *)disk;
}

static u64 bus_ns(const struct hdd *hdd, bool write, u64 sectors)
{
	u64 whole = hdd->bus_whole_ns[write] * sectors;

	return hdd->bus_rest[write] ? whole + disk_div(hdd->bus_rest[write] * sectors,
						hdd->electronics.bus_bytes_per_s[write]) : whole;
}

/* By time, then arrival. */
static void leave_at(struct hdd *hdd, u64 done_ns, u32 tag, bool flush)
{
	u32 at = hdd->nr_leaving++;

	for (; at > 0 && hdd->leaving[at - 1].at > done_ns; at--)
		hdd->leaving[at] = hdd->leaving[at - 1];
	hdd->leaving[at] = (struct disk_leaving){ done_ns, tag, flush };
}

static void leave(struct hdd *hdd, const struct disk_waiting *command)
{
	u64 begin = disk_max(disk_max(command->ready_ns, hdd->disk.clock_ns), hdd->bus_free_ns);

	hdd->bus_free_ns = begin + bus_ns(hdd, command->write, command->nr);
	if (!command->write)
		begin = hdd->bus_free_ns + hdd->electronics.read_completion_ns;
	else
		begin = hdd->bus_free_ns;
	leave_at(hdd, begin, command->tag, false);
}

static struct disk_waiting remove_waiting(struct hdd *hdd, u32 at)
{
	struct disk_waiting command = hdd->waiting[at];

	hdd->nr_waiting--;
	memmove(&hdd->waiting[at], &hdd->waiting[at + 1], (hdd->nr_waiting - at) * sizeof(command));
	return command;
}

static void catch_up(struct hdd *hdd, u64 now)
{
	struct disk_reached reached;

	if (!hdd->ahead.on || hdd->ahead.seen_ns >= now)
		return;
	reached = disk_reading_on(&hdd->mechanics, now, hdd->ahead.head, hdd->ahead.limit);
	hdd->ahead.head = reached.head;
	hdd->ahead.arm = reached.arm;
	hdd->ahead.seen_ns = now;
	disk_segments_grow(hdd, hdd->ahead.segment, reached.head.next);
}

static void stop_reading_on(struct hdd *hdd, u64 now)
{
	catch_up(hdd, now);
	if (hdd->ahead.on)
		hdd->arm = hdd->ahead.arm;
	hdd->ahead.on = false;
}

static u64 ahead_limit(const struct hdd *hdd, u64 end, u32 segment)
{
	u64 sectors = hdd->disk.sectors, first, past;

	if (!hdd->electronics.read_to_track_end || end >= sectors)
		return disk_min(end + hdd->electronics.read_ahead, sectors);
	disk_track_of(&hdd->mechanics, end, &first, &past);
	if (hdd->segments[segment].start < first && past < sectors)
		disk_track_of(&hdd->mechanics, past, &first, &past);
	return disk_min(past, sectors);
}

static void read_on(struct hdd *hdd, struct disk_head head, u32 segment, u64 limit)
{
	hdd->ahead.on = true;
	hdd->ahead.segment = segment;
	hdd->ahead.head = head;
	hdd->ahead.arm = head.arm;
	hdd->ahead.seen_ns = head.at_ns;
	hdd->ahead.limit = limit;
}

static u32 reading_segment(const struct hdd *hdd)
{
	return hdd->ahead.on && hdd->ahead.head.next < hdd->ahead.limit ? hdd->ahead.segment :
	       DISK_NONE;
}

static u32 partial(const struct hdd *hdd, u64 sector)
{
	u32 reading = reading_segment(hdd);

	if (reading != DISK_NONE && hdd->electronics.almost_hits &&
	    hdd->segments[reading].end == sector)
		return reading;
	return disk_segments_hold(hdd, sector, sector + 1);
}

/* Serves a read from the cache. Extends the read-ahead, or restarts it at @restart_ns. */
static bool hit(struct hdd *hdd, u64 now, const struct disk_waiting *command, u64 restart_ns)
{
	u64 end = command->sector + command->nr, limit;
	u32 reading;
	u32 segment = disk_segments_hold(hdd, command->sector, end);

	if (segment == DISK_NONE && !disk_dirty_hold(hdd, command->sector, end))
		return false;
	hdd->disk.stats.cache_hits++;
	leave(hdd, command);
	if (segment == DISK_NONE)
		return true;
	disk_segments_touch(hdd, segment);
	reading = reading_segment(hdd);
	limit = ahead_limit(hdd, end, segment);
	if (reading == segment) {
		hdd->ahead.limit = disk_max(hdd->ahead.limit, limit);
	} else if (reading == DISK_NONE && hdd->electronics.read_on_idle_hit &&
		   hdd->current.doing == DISK_IDLE) {
		u64 next = hdd->segments[segment].end;

		stop_reading_on(hdd, now);
		if (next < limit)
			read_on(hdd, (struct disk_head){ next, restart_ns, hdd->arm }, segment,
				limit);
	}
	return true;
}

static void account(struct hdd *hdd, const struct disk_costs *costs)
{
	struct core_disk_stats *stats = &hdd->disk.stats;

	stats->seeks += costs->seeks;
	stats->seek_cylinders += costs->cylinders;
	stats->seek_ns += costs->move_ns;
	stats->rotation_ns += costs->rotation_ns;
	stats->transfer_ns += costs->transfer_ns;
}

/* Reads the missing sectors up to @end, while the read-ahead continues. */
static struct disk_walk read_rest(struct hdd *hdd, u64 now, u64 begin, u64 end, u32 segment)
{
	struct disk_head head = hdd->ahead.head;
	bool reading = reading_segment(hdd) == segment;
	struct disk_costs waited = { 0 };
	struct disk_walk walk;

	if (hdd->ahead.on && hdd->ahead.segment == segment) {
		hdd->ahead.on = false;
		if (!reading)
			head.at_ns = disk_max(head.at_ns, begin);
	} else {
		stop_reading_on(hdd, now);
		head = (struct disk_head){ hdd->segments[segment].end, begin, hdd->arm };
	}
	disk_segments_touch(hdd, segment);
	walk = disk_walk(&hdd->mechanics, head.at_ns, head.arm, (struct disk_transfer){
		.sector = head.next,
		.nr = end - head.next,
	});
	if (walk.end_ns > now)
		waited.transfer_ns = disk_min(walk.end_ns - now, walk.costs.transfer_ns);
	account(hdd, reading ? &waited : &walk.costs);
	return walk;
}

/* @data_ns: when the bus can transfer the first data. */
static struct disk_walk read_medium(struct hdd *hdd, u64 now, u64 begin,
				    const struct disk_waiting *command, u64 *data_ns)
{
	const struct disk_electronics *e = &hdd->electronics;
	u64 in_buffer = disk_min(command->nr, hdd->segment_size);
	struct disk_walk walk;

	stop_reading_on(hdd, now);
	walk = disk_walk(&hdd->mechanics, begin, hdd->arm, (struct disk_transfer){
		.sector = command->sector,
		.nr = command->nr,
		.mark = disk_max(disk_div(in_buffer * e->read_watermark, 100), 1),
	});
	account(hdd, &walk.costs);
	*data_ns = walk.mark_ns + e->reconnect_ns;
	return walk;
}

static void start_read(struct hdd *hdd, u64 now, const struct disk_waiting *command)
{
	u64 end = command->sector + command->nr, begin = disk_max(now, command->ready_ns);
	u64 data_ns = begin, done_ns;
	u32 segment = partial(hdd, command->sector);
	struct disk_walk walk;

	if (segment != DISK_NONE)
		walk = read_rest(hdd, now, begin, end, segment);
	else
		walk = read_medium(hdd, now, begin, command, &data_ns);
	hdd->arm = walk.arm;
	done_ns = disk_max(walk.end_ns + bus_ns(hdd, false, 1),
			   data_ns + bus_ns(hdd, false, command->nr));
	done_ns = disk_max(done_ns, begin) + hdd->electronics.read_completion_ns;
	hdd->current = (struct disk_work){
		.doing = DISK_READ,
		.tag = command->tag,
		.segment = segment,
		.done_ns = done_ns,
		.media_end_ns = walk.end_ns,
		.sector = command->sector,
		.end = end,
	};
}

/* The medium must not overtake the bus. */
static u64 earliest_ns(const struct hdd *hdd, const struct disk_waiting *command)
{
	u64 passing = disk_div(command->nr * hdd->mechanics.revolution_ns,
			       disk_sectors_per_track(&hdd->mechanics, command->sector));
	u64 bus = bus_ns(hdd, true, command->nr), late = bus > passing ? bus - passing : 0;
	u64 first = disk_min(command->nr, hdd->electronics.write_watermark);

	return command->ready_ns + disk_max(bus_ns(hdd, true, first), late);
}

static struct disk_walk write_medium(struct hdd *hdd, u64 now, u64 begin,
				     struct disk_transfer transfer)
{
	u64 least = begin + hdd->electronics.write_seek_least_ns;
	struct disk_walk walk;

	stop_reading_on(hdd, now);
	transfer.write = true;
	transfer.earliest_ns = disk_max(transfer.earliest_ns, least);
	walk = disk_walk(&hdd->mechanics, begin, hdd->arm, transfer);
	account(hdd, &walk.costs);
	hdd->arm = walk.arm;
	return walk;
}

static void start_write(struct hdd *hdd, u64 now, const struct disk_waiting *command)
{
	const struct disk_electronics *e = &hdd->electronics;
	u64 ready_ns = command->ready_ns, first = disk_min(command->nr, e->write_watermark);
	struct disk_walk walk = write_medium(hdd, now, disk_max(now, ready_ns),
					     (struct disk_transfer){
		.sector = command->sector,
		.nr = command->nr,
		.earliest_ns = ready_ns + bus_ns(hdd, true, first),
		.data_ns = ready_ns,
		.data_sector_ns = hdd->bus_whole_ns[1],
	});

	hdd->current = (struct disk_work){
		.doing = DISK_WRITE,
		.tag = command->tag,
		.done_ns = walk.end_ns + e->reconnect_ns + e->write_completion_ns,
		.sector = command->sector,
		.end = command->sector + command->nr,
	};
}

static void start(struct hdd *hdd, u64 now, const struct disk_waiting *command)
{
	if (command->write)
		start_write(hdd, now, command);
	else
		start_read(hdd, now, command);
}

static void destage(struct hdd *hdd, u64 now, u32 at)
{
	struct disk_extent extent = disk_dirty_start(hdd, at);
	struct disk_walk walk = write_medium(hdd, now, disk_max(now, extent.ready_ns),
					     (struct disk_transfer){
		.sector = extent.sector,
		.nr = extent.nr,
		.earliest_ns = extent.earliest_ns,
	});

	hdd->moving = true;
	hdd->current = (struct disk_work){
		.doing = DISK_DESTAGE,
		.done_ns = walk.end_ns,
		.extent = extent,
	};
}

static void overwritten(struct hdd *hdd, u64 now, u64 sector, u64 nr)
{
	u32 reading_on = hdd->ahead.on ? hdd->ahead.segment : DISK_NONE;
	bool stop = disk_segments_overwrite(hdd, sector, sector + nr, reading_on);
	struct disk_work *work = &hdd->current;

	if (work->doing == DISK_READ) {
		bool emptied = work->segment != DISK_NONE &&
			       hdd->segments[work->segment].end == 0;

		work->stale |= emptied || (sector < work->end && work->sector < sector + nr);
	}
	if (stop) {
		hdd->ahead.on = false;
		hdd->arm = disk_reading_on(&hdd->mechanics, now, hdd->ahead.head,
					   hdd->ahead.limit).arm;
	}
}

static bool caches(const struct hdd *hdd, u64 nr)
{
	return hdd->electronics.immediate_reporting && nr <= hdd->dirty_room;
}

static bool waits_for_room(const struct hdd *hdd, const struct disk_waiting *command)
{
	return command->write && caches(hdd, command->nr);
}

static void admit_writes(struct hdd *hdd, u64 now)
{
	u32 at = 0;

	while (at < hdd->nr_waiting) {
		struct disk_waiting command = hdd->waiting[at];

		if (!waits_for_room(hdd, &command)) {
			at++;
			continue;
		}
		if (!disk_dirty_take(hdd, &command, earliest_ns(hdd, &command)))
			return;
		remove_waiting(hdd, at);
		overwritten(hdd, now, command.sector, command.nr);
		hdd->disk.stats.cached_writes++;
		leave(hdd, &command);
	}
}

static void end_flushes(struct hdd *hdd, u64 now)
{
	while (hdd->nr_flushes && disk_dirty_clean_up_to(hdd, hdd->flushes[0].covers)) {
		struct disk_flush flush = hdd->flushes[0];

		if (hdd->current.doing == DISK_DESTAGE && hdd->current.extent.last <= flush.covers)
			return;
		hdd->nr_flushes--;
		memmove(&hdd->flushes[0], &hdd->flushes[1], hdd->nr_flushes * sizeof(flush));
		leave_at(hdd, now + hdd->electronics.write_overhead_ns[0], flush.tag, true);
	}
}

static u64 positioning(const struct hdd *hdd, u64 begin, u64 sector, u64 nr, bool write)
{
	struct disk_arm arm = hdd->arm;

	if (hdd->ahead.on) {
		struct disk_reached reached =
			disk_reading_on(&hdd->mechanics, begin, hdd->ahead.head, hdd->ahead.limit);

		if (!write && hdd->segments[hdd->ahead.segment].start <= sector &&
		    sector <= reached.head.next)
			return 0;
		arm = reached.arm;
	}
	if (!write && (disk_segments_hold(hdd, sector, sector + nr) != DISK_NONE ||
		       disk_dirty_hold(hdd, sector, sector + nr)))
		return 0;
	return disk_positioning_ns(&hdd->mechanics, begin, arm, sector, write);
}

static u64 time_to(const struct hdd *hdd, u64 now, u32 at)
{
	const struct disk_waiting *command = &hdd->waiting[at];
	u64 begin = disk_max(now, command->ready_ns);

	return begin - now + positioning(hdd, begin, command->sector, command->nr, command->write);
}

static u32 nearest_dirty(const struct hdd *hdd, u64 now, u64 *away)
{
	u32 at, nearest = DISK_NONE;

	for (at = 0; at < hdd->nr_extents; at++) {
		u64 time = positioning(hdd, now, hdd->extents[at].sector, hdd->extents[at].nr,
				       true);

		if (nearest == DISK_NONE || time < *away) {
			nearest = at;
			*away = time;
		}
	}
	return nearest;
}

/* Sets @blocked if a command waits for cache space. */
static u32 next_command(const struct hdd *hdd, u64 now, bool *blocked)
{
	bool oldest_first = hdd->nr_waiting == 1 || !hdd->electronics.nearest_first;
	u32 at, next = DISK_NONE;
	u64 nearest = 0, window = hdd->electronics.order_window;

	*blocked = false;
	for (at = 0; at < hdd->nr_waiting; at++) {
		if (waits_for_room(hdd, &hdd->waiting[at])) {
			*blocked = true;
		} else if (!oldest_first && window > 0) {
			u64 time = time_to(hdd, now, at);

			window--;
			if (next == DISK_NONE || time < nearest) {
				next = at;
				nearest = time;
			}
		} else if (next == DISK_NONE) {
			next = at;
		}
	}
	return next;
}

/*
 * A waiting command or, if @dirty, the nearest extent of the write cache. Extents are written when
 * no command waits, or for a flush. While a write waits for space, the nearer of both is chosen.
 */
static u32 choose(const struct hdd *hdd, u64 now, bool *dirty)
{
	bool blocked;
	u64 away = 0;
	u32 command, extent;

	*dirty = true;
	if (hdd->nr_flushes)
		return nearest_dirty(hdd, now, &away);
	command = next_command(hdd, now, &blocked);
	if (command == DISK_NONE)
		return nearest_dirty(hdd, now, &away);
	if (blocked) {
		extent = nearest_dirty(hdd, now, &away);
		if (extent != DISK_NONE && away < time_to(hdd, now, command))
			return extent;
	}
	*dirty = false;
	return command;
}

static void pick(struct hdd *hdd, u64 now)
{
	admit_writes(hdd, now);
	end_flushes(hdd, now);
	while (hdd->current.doing == DISK_IDLE) {
		bool dirty;
		u32 at = choose(hdd, now, &dirty);

		if (at == DISK_NONE)
			return;
		if (dirty) {
			destage(hdd, now, at);
		} else {
			struct disk_waiting command = remove_waiting(hdd, at);

			catch_up(hdd, now);
			if (command.write ||
			    !hit(hdd, now, &command, disk_max(now, command.ready_ns)))
				start(hdd, now, &command);
		}
	}
}

/* True if a read hits the cache. Sets its overhead. */
static bool read_from_cache(struct hdd *hdd, u64 now, struct disk_waiting *command, bool after)
{
	u64 medium_ns = now + hdd->electronics.read_overhead_ns[after];
	u32 segment;

	catch_up(hdd, now);
	command->ready_ns = now + hdd->electronics.hit_overhead_ns[after];
	if (hit(hdd, now, command, medium_ns))
		return true;
	segment = partial(hdd, command->sector);
	if (segment == DISK_NONE || segment != reading_segment(hdd))
		command->ready_ns = medium_ns;
	return false;
}

static void hdd_transfer(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector, u32 nr)
{
	struct hdd *hdd = hdd_of(disk);
	bool idle = hdd->current.doing == DISK_IDLE, after = hdd->after_write;
	struct disk_waiting command = { sector, now + hdd->electronics.write_overhead_ns[after],
		nr, tag, write };

	hdd->after_write = write;
	if (write) {
		if (!caches(hdd, nr))
			overwritten(hdd, now, sector, nr);
	} else if (read_from_cache(hdd, now, &command, after)) {
		return;
	}
	if (idle && !waits_for_room(hdd, &command) && !hdd->nr_waiting) {
		start(hdd, now, &command);
		return;
	}
	hdd->waiting[hdd->nr_waiting++] = command;
	if (idle)
		pick(hdd, now);
	else
		admit_writes(hdd, now);
}

static void hdd_flush(struct core_disk *disk, u64 now, u32 tag)
{
	struct hdd *hdd = hdd_of(disk);

	hdd->flushes[hdd->nr_flushes++] = (struct disk_flush){ hdd->dirty_writes, tag };
	if (hdd->current.doing == DISK_IDLE)
		pick(hdd, now);
	else
		end_flushes(hdd, now);
}

static u64 hdd_next_event(const struct core_disk *disk)
{
	const struct hdd *hdd = hdd_of_const(disk);
	u64 arm = hdd->current.doing == DISK_IDLE ? CORE_DISK_NEVER : hdd->current.done_ns;

	return hdd->nr_leaving ? disk_min(arm, hdd->leaving[0].at) : arm;
}

static void finish(struct hdd *hdd, const struct disk_work *work, const struct disk_sink *sink)
{
	u32 segment = work->segment;

	if (work->doing == DISK_DESTAGE) {
		hdd->dirty_held -= work->extent.nr;
		hdd->moving = false;
		disk_segments_fill(hdd, work->extent.sector,
				   work->extent.sector + work->extent.nr);
		return;
	}
	if (work->doing == DISK_WRITE && hdd->dirty_room > 0)
		disk_segments_fill(hdd, work->sector, work->end);
	if (work->doing == DISK_READ && !work->stale) {
		if (segment != DISK_NONE)
			disk_segments_grow(hdd, segment, work->end);
		else
			segment = disk_segments_fill(hdd, work->sector, work->end);
		if (segment != DISK_NONE)
			read_on(hdd, (struct disk_head){ work->end, work->media_end_ns, hdd->arm },
				segment, ahead_limit(hdd, work->end, segment));
	}
	disk_done(&hdd->disk, sink, work->tag, false, work->done_ns);
}

static void hdd_event(struct core_disk *disk, u64 at, const struct disk_sink *sink)
{
	struct hdd *hdd = hdd_of(disk);
	struct disk_work work = hdd->current;

	if (hdd->nr_leaving && hdd->leaving[0].at == at) {
		struct disk_leaving first = hdd->leaving[0];

		hdd->nr_leaving--;
		memmove(&hdd->leaving[0], &hdd->leaving[1], hdd->nr_leaving * sizeof(first));
		disk_done(disk, sink, first.tag, first.flush, at);
		return;
	}
	hdd->current.doing = DISK_IDLE;
	finish(hdd, &work, sink);
	pick(hdd, at);
}

static bool hdd_has_arm(const struct core_disk *disk)
{
	(void)disk;
	return true;
}

static bool hdd_has_volatile_cache(const struct core_disk *disk)
{
	return hdd_of_const(disk)->electronics.immediate_reporting;
}

const struct disk_model disk_hdd = {
	.size = disk_hdd_size,
	.init = disk_hdd_init,
	.transfer = hdd_transfer,
	.flush = hdd_flush,
	.next_event = hdd_next_event,
	.event = hdd_event,
	.has_arm = hdd_has_arm,
	.has_volatile_cache = hdd_has_volatile_cache,
};
