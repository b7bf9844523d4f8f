// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The mechanics of a disk. Divides where the simulator uses tables, with the same results. */
#include "disk-mechanics.h"

struct spot {
	const struct disk_zone *zone;
	struct disk_arm arm;
	u64 sector;
};

static const struct disk_zone *zone_of(const struct disk_mechanics *m, u64 sector)
{
	u32 low = 0, high = m->nr_zones;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (m->zones[middle].first_sector <= sector)
			low = middle;
		else
			high = middle;
	}
	return &m->zones[low];
}

static struct spot past_slipped(const struct disk_mechanics *m, const struct disk_zone *zone,
				u64 within)
{
	u64 numbered = disk_div(within, zone->sectors_per_track), track = numbered, cylinder;
	struct spot spot = { .zone = zone };
	u32 at;

	for (at = 0; at < zone->nr_slipped; at++)
		track += disk_le64(zone->slipped + 8 * (size_t)at) <= track;
	cylinder = disk_div(track, m->heads);
	spot.arm.cylinder = zone->first_cylinder + (u32)cylinder;
	spot.arm.head = (u32)(track - cylinder * m->heads);
	spot.sector = within - numbered * zone->sectors_per_track;
	return spot;
}

static struct spot locate(const struct disk_mechanics *m, u64 sector)
{
	struct spot spot = { .zone = zone_of(m, sector) };
	u64 within = sector - spot.zone->first_sector + spot.zone->reserved, cylinder, head;

	if (spot.zone->nr_slipped)
		return past_slipped(m, spot.zone, within);
	cylinder = disk_div(within, spot.zone->sectors_per_cylinder);
	within -= cylinder * spot.zone->sectors_per_cylinder;
	head = disk_div(within, spot.zone->sectors_per_track);
	spot.arm.cylinder = spot.zone->first_cylinder + (u32)cylinder;
	spot.arm.head = (u32)head;
	spot.sector = within - head * spot.zone->sectors_per_track;
	return spot;
}

static u32 distance(struct disk_arm from, struct disk_arm to)
{
	return from.cylinder > to.cylinder ? from.cylinder - to.cylinder :
		to.cylinder - from.cylinder;
}

static u64 move_ns(const struct disk_mechanics *m, struct disk_arm from, struct disk_arm to,
		   bool write)
{
	u32 far = distance(from, to);
	u64 seek;

	if (far == 0 && from.head == to.head)
		return 0;
	if (far < m->nr_near)
		seek = disk_le32(m->near + 4 * (size_t)far);
	else
		seek = m->seek_c_ns + disk_div(m->seek_e_ps * far, 1000);
	if (from.head != to.head)
		seek = disk_max(seek, m->head_switch_ns);
	if (!write)
		return seek;
	seek += m->write_settle_ns;
	return seek > m->write_lead_ns ? seek - m->write_lead_ns : 0;
}

/* The exact angle of a sector, counted in sectors of its zone read without a pause. */
static u64 turned(struct spot spot)
{
	u64 cylinder = spot.arm.cylinder - spot.zone->first_cylinder;

	return spot.zone->phase + cylinder * spot.zone->skew_per_cylinder +
	       spot.arm.head * spot.zone->track_skew +
	       spot.sector;
}

/* Rounded down, but exact for whole revolutions. */
static u64 passing_ns(const struct disk_mechanics *m, const struct disk_zone *zone, u64 sectors)
{
	u64 of = zone->sectors_per_track;
	u64 whole = disk_div(sectors, of);

	return whole * m->revolution_ns + disk_div((sectors - whole * of) * m->revolution_ns, of);
}

/* @phase is a time modulo a revolution. */
static u64 until(const struct disk_mechanics *m, u64 ns, u64 phase)
{
	u64 turn = m->revolution_ns;
	u64 here = ns - disk_div(ns, turn) * turn;
	u64 there = phase - disk_div(phase, turn) * turn;

	return there >= here ? there - here : there + turn - here;
}

static u64 pass(const struct disk_mechanics *m, u64 ns, struct spot spot, u64 nr, u64 *passing)
{
	u64 sectors = turned(spot);
	u64 start = passing_ns(m, spot.zone, sectors);

	*passing = passing_ns(m, spot.zone, sectors + nr) - start;
	return until(m, ns, start);
}

static u64 left_on_track(const struct disk_mechanics *m, struct spot spot)
{
	u64 spare = spot.arm.head + 1 == m->heads ? m->spare_per_cylinder : 0;

	return spot.zone->sectors_per_track - spare - spot.sector;
}

/* False for a zone's last track. */
static bool is_slipped(const struct disk_mechanics *m, struct spot spot)
{
	u64 track = (u64)(spot.arm.cylinder - spot.zone->first_cylinder) * m->heads + spot.arm.head;
	u32 at;

	for (at = 0; at < spot.zone->nr_slipped; at++)
		if (disk_le64(spot.zone->slipped + 8 * (size_t)at) == track)
			return true;
	return false;
}

/* Transfers end within the disk, so there is a next track. */
static struct spot next_track(const struct disk_mechanics *m, struct spot spot)
{
	const struct disk_arm *last = &spot.zone->last;

	spot.sector = 0;
	if (spot.arm.cylinder == last->cylinder && spot.arm.head == last->head) {
		spot.zone++;
		spot.arm = spot.zone->first;
		return spot;
	}
	do {
		if (++spot.arm.head == m->heads) {
			spot.arm.head = 0;
			spot.arm.cylinder++;
		}
	} while (is_slipped(m, spot));
	return spot;
}

static u64 step(const struct disk_mechanics *m, struct disk_arm from, struct disk_arm to,
		bool write,
		struct disk_costs *costs)
{
	u64 ns = move_ns(m, from, to, write);
	u32 far = distance(from, to);

	costs->seeks += far > 0;
	costs->cylinders += far;
	costs->move_ns += ns;
	return ns;
}

u64 disk_positioning_ns(const struct disk_mechanics *m, u64 begin_ns, struct disk_arm arm,
			u64 sector, bool write)
{
	struct spot spot = locate(m, sector);
	u64 moving = move_ns(m, arm, spot.arm, write);

	return moving + until(m, begin_ns + moving, passing_ns(m, spot.zone, turned(spot)));
}

/* Whole revolutions, if the head would overtake the bus. */
static u64 lost_ns(const struct disk_mechanics *m, const struct disk_transfer *transfer, u64 at,
		   u64 left, struct disk_costs *costs)
{
	u64 there = transfer->data_ns + (transfer->nr - left) * transfer->data_sector_ns, lost;

	if (transfer->data_sector_ns == 0 || at >= there)
		return 0;
	lost = disk_div(there - at + m->revolution_ns - 1, m->revolution_ns) * m->revolution_ns;
	costs->rotation_ns += lost;
	return lost;
}

struct disk_walk disk_walk(const struct disk_mechanics *m, u64 ns, struct disk_arm arm,
			   struct disk_transfer transfer)
{
	struct spot spot = locate(m, transfer.sector);
	struct disk_walk walk = { 0 };
	bool first = true, write = transfer.write;
	u64 left = transfer.nr;
	u64 at = disk_max(ns + step(m, arm, spot.arm, write, &walk.costs), transfer.earliest_ns);

	for (;;) {
		u64 take = disk_min(left, left_on_track(m, spot));
		u64 passing, wait = pass(m, at, spot, take, &passing);
		u64 marked = transfer.mark + left > transfer.nr ?
			     transfer.mark + left - transfer.nr : 0;
		struct disk_arm here = spot.arm;

		walk.costs.rotation_ns += wait;
		walk.costs.transfer_ns += passing;
		if (first)
			walk.first_ns = at + wait;
		first = false;
		if (walk.mark_ns == 0 && marked > 0 && marked <= take) {
			u64 passed;

			pass(m, at, spot, marked, &passed);
			walk.mark_ns = at + wait + passed;
		}
		at += wait + passing;
		left -= take;
		at += lost_ns(m, &transfer, at, left, &walk.costs);
		if (left == 0)
			break;
		spot = next_track(m, spot);
		at += step(m, here, spot.arm, write, &walk.costs);
	}
	walk.end_ns = at;
	walk.arm = spot.arm;
	return walk;
}

void disk_track_of(const struct disk_mechanics *m, u64 sector, u64 *first, u64 *past)
{
	struct spot spot = locate(m, sector);

	*first = sector - spot.sector;
	*past = sector + left_on_track(m, spot);
}

u64 disk_sectors_per_track(const struct disk_mechanics *m, u64 sector)
{
	return zone_of(m, sector)->sectors_per_track;
}

/* disk_reading_on() within a track. Only whole sectors count. */
static struct disk_reached within_track(const struct disk_mechanics *m, u64 now,
					struct disk_head head, struct spot spot,
					u64 start)
{
	u64 sectors = turned(spot);
	u64 phase = passing_ns(m, spot.zone, sectors);
	/* The start was rounded, so one more may have passed. Corrects at most two. */
	u64 passed = disk_div((now - start) * spot.zone->sectors_per_track, m->revolution_ns) + 1;
	struct disk_reached reached;

	while (start + passing_ns(m, spot.zone, sectors + passed) - phase > now)
		passed--;
	reached.head.next = head.next + passed;
	reached.head.at_ns = start + passing_ns(m, spot.zone, sectors + passed) - phase;
	reached.head.arm = spot.arm;
	reached.arm = spot.arm;
	return reached;
}

struct disk_reached disk_reading_on(const struct disk_mechanics *m, u64 now, struct disk_head from,
				    u64 limit)
{
	struct disk_reached reached = { from, from.arm };

	while (reached.head.next < limit) {
		struct disk_head head = reached.head;
		struct spot spot = locate(m, head.next);
		u64 settled = head.at_ns + move_ns(m, head.arm, spot.arm, false);
		u64 take, start, passing;

		if (settled > now)
			break;
		take = disk_min(left_on_track(m, spot), limit - head.next);
		start = settled + pass(m, settled, spot, take, &passing);
		if (start > now) {
			/* On the track, but no sector has passed yet. */
			reached.arm = spot.arm;
			break;
		}
		if (start + passing > now)
			return within_track(m, now, head, spot, start);
		reached.head.next = head.next + take;
		reached.head.at_ns = start + passing;
		reached.head.arm = spot.arm;
		reached.arm = spot.arm;
	}
	return reached;
}
