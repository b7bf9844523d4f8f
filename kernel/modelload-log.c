// SPDX-License-Identifier: GPL-2.0
/*
 * A pass's log for userspace.
 *
 * Bio completions write records and cannot wait for space, so clients reserve it before submission.
 * Userspace is woken when the log is half full, a client is short of steps, or all clients have
 * ended.
 */
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "modelload-arena.h"

/* Records between two reads. */
#define LOG_RECORDS	65536

int log_init(struct arena *arena, u32 open)
{
	u32 promised = arena->nr_clients + 1;

	/* Twice the requests in flight, so that userspace is woken before clients block. */
	arena->log_size = roundup_pow_of_two(LOG_RECORDS + 2 * open + promised);
	arena->log_reserved = promised;
	arena->log = vzalloc(array_size(arena->log_size, sizeof(*arena->log)));
	return arena->log ? 0 : -ENOMEM;
}

static u32 log_used(struct arena *arena)
{
	return arena->log_written - arena->log_read;
}

/* Without space the client is blocked until the next read. */
bool log_reserve(struct arena *arena)
{
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&arena->log_lock, flags);
	room = log_used(arena) + arena->log_reserved < arena->log_size;
	if (room)
		arena->log_reserved++;
	else
		arena->log_blocked++;
	spin_unlock_irqrestore(&arena->log_lock, flags);
	if (!room)
		wake_up_interruptible(&arena->reader);
	return room;
}

static void log_write(struct arena *arena, const struct modelload_record *record, bool ends)
{
	unsigned long flags;
	bool wake;

	spin_lock_irqsave(&arena->log_lock, flags);
	arena->log[arena->log_written & (arena->log_size - 1)] = *record;
	arena->log_written++;
	arena->log_reserved--;
	if (ends)
		arena->live--;
	wake = log_used(arena) == arena->log_size / 2 || !arena->live;
	spin_unlock_irqrestore(&arena->log_lock, flags);
	if (wake)
		wake_up_interruptible(&arena->reader);
}

void log_done(struct arena *arena, const struct modelload_record *record)
{
	log_write(arena, record, false);
}

/* The last client's record ends the log. */
void log_ended(struct client *client)
{
	struct modelload_record record = {
		.completed_ns = client->ended_ns,
		.offset = client->turns.taken,
		.bytes = client->finished,
		.client = client->number,
		.kind = MODELLOAD_ENDED,
	};

	log_write(client->arena, &record, true);
}

bool log_worth_reading(struct arena *arena)
{
	unsigned long flags;
	bool worth;

	spin_lock_irqsave(&arena->log_lock, flags);
	worth = !arena->live || arena->log_blocked || log_used(arena) >= arena->log_size / 2;
	spin_unlock_irqrestore(&arena->log_lock, flags);
	return worth || READ_ONCE(arena->need_steps);
}

/* If a client is short of steps. */
static ssize_t read_rooms(struct arena *arena, char __user *to, size_t records)
{
	size_t n = 0;
	u32 i;

	if (!READ_ONCE(arena->need_steps))
		return 0;
	WRITE_ONCE(arena->need_steps, 0);
	for (i = 0; i < arena->nr_clients && n < records; i++) {
		struct client *client = &arena->clients[i];
		struct modelload_record record = { .client = i, .kind = MODELLOAD_ROOM };
		bool tell;

		spin_lock_irq(&client->lock);
		record.bytes = arena->ring_size - (client->steps.written - client->steps.taken);
		record.offset = arena->ring_size - (client->turns.written - client->turns.taken);
		tell = !client->last_written && !client->room_reported && client->state != CLIENT_CLOSING &&
			(record.bytes >= arena->ring_size / 4 || client->needs_turn);
		client->room_reported |= tell;
		spin_unlock_irq(&client->lock);
		if (!tell)
			continue;
		if (copy_to_user(to + n * sizeof(record), &record, sizeof(record)))
			return -EFAULT;
		n++;
	}
	/* A client may not have fitted into the buffer: report again. */
	if (n == records)
		WRITE_ONCE(arena->need_steps, 1);
	return n;
}

/* Records are not overwritten before log_read advances. */
static ssize_t read_records(struct arena *arena, char __user *to, size_t records)
{
	size_t n = 0;
	u32 from, used;

	spin_lock_irq(&arena->log_lock);
	from = arena->log_read;
	used = log_used(arena);
	spin_unlock_irq(&arena->log_lock);
	while (n < records && n < used) {
		u32 at = (from + n) & (arena->log_size - 1);
		size_t part = min3(records - n, (size_t)used - n, (size_t)arena->log_size - at);

		if (copy_to_user(to + n * sizeof(*arena->log), &arena->log[at],
				 part * sizeof(*arena->log)))
			return -EFAULT;
		n += part;
	}
	return n;
}

static void unblock(struct arena *arena, u32 records)
{
	u32 i, blocked;

	spin_lock_irq(&arena->log_lock);
	arena->log_read += records;
	blocked = arena->log_blocked;
	arena->log_blocked = 0;
	spin_unlock_irq(&arena->log_lock);
	for (i = 0; blocked && i < arena->nr_clients; i++)
		client_kick(&arena->clients[i]);
}

/* Returns the bytes copied, or 0 without records. Requires arena->io. */
ssize_t log_read(struct arena *arena, char __user *to, size_t room)
{
	size_t records = room / sizeof(struct modelload_record);
	ssize_t rooms, done;

	rooms = read_rooms(arena, to, records);
	if (rooms < 0)
		return rooms;
	done = read_records(arena, to + rooms * sizeof(struct modelload_record), records - rooms);
	if (done < 0)
		return done;
	unblock(arena, done);
	return (rooms + done) * sizeof(struct modelload_record);
}
