/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internal to modelload: one pass of a workload (struct arena), its clients and requests.
 * modelload-main.c is the character device, modelload-client.c the clients, modelload-bio.c their
 * I/O, modelload-log.c the records for userspace.
 *
 * Lock order: arena.io (a mutex held for each system call), client.lock, arena.log_lock. Both
 * spinlocks are taken in bio completions, so always with interrupts disabled.
 */
#ifndef SCHEDLAB_MODELLOAD_ARENA_H
#define SCHEDLAB_MODELLOAD_ARENA_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/ioprio.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "modelload.h"

/* Maximum bio of direct I/O: 256 pages. */
#define BIO_BYTES	(BIO_MAX_VECS * PAGE_SIZE)

/* The default I/O priority. */
#define BE_4	IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM)

enum client_state {
	CLIENT_NEW,		/* not started */
	CLIENT_DUE,		/* executes steps when its timer expires */
	CLIENT_DUE_FLUSH,	/* flushes when its timer expires */
	CLIENT_RUNNING,		/* executes steps */
	CLIENT_NEED_STEPS,	/* waits for userspace to write steps */
	CLIENT_LOG_FULL,	/* waits for userspace to read records */
	CLIENT_DEPTH_FULL,	/* waits for a completion */
	CLIENT_SYNCING,		/* waits for all requests in flight, then flushes */
	CLIENT_FLUSHING,	/* waits for its flush */
	CLIENT_CLOSING,		/* waits for all requests in flight, then ends */
};

struct client;

/* A client's request of one or more bios. */
struct piece {
	struct list_head node;
	struct client *client;
	u64 submitted_ns;
	u64 offset;
	u32 bytes;
	u8 op;
	int error;
	atomic_t open;	/* bios that have not completed */
	struct bio bios[];
};

/* Unconsumed steps or turnarounds from userspace. The counters wrap. */
struct ring {
	u32 taken;
	u32 written;
};

struct client {
	struct arena *arena;
	struct task_struct *task;
	struct hrtimer timer;
	u32 number;
	u32 depth;
	int kicked;
	int fired;

	spinlock_t lock;
	enum client_state state;
	u32 in_flight;
	u64 now_ns;		/* the client's time: the expiry that its timer was set to */
	u64 ended_ns;
	bool finished;
	bool last_written;	/* its last step has been written */
	bool needs_turn;	/* the timer cannot be set before a turnaround is written */
	bool room_reported;	/* room was reported to userspace */
	u64 turn_from_ns;
	enum client_state turn_state;
	/* Completions while the client executes steps, handled afterwards. */
	bool completed;
	u64 first_done_ns;
	u64 last_done_ns;

	struct ring steps;
	struct ring turns;
	struct modelload_step *step_table;
	u64 *turn_table;
	struct list_head free;
	void *pieces;
	struct bio flush;
	u64 flush_ns;
};

struct arena {
	struct mutex io;
	bool started;
	struct hrtimer start_timer;
	struct file *disk_file;
	struct block_device *disk;
	u64 disk_bytes;
	bool may_write;

	u32 rules;
	u32 max_bytes;
	u64 warmup_ns;
	u64 duration_ns;
	u64 turnaround_ns;
	u64 close_ns;
	u64 stop_ns;		/* when the first client to finish stopped the others */
	int stopping;
	int dying;

	u32 nr_clients;
	u32 nr_created;
	u32 ring_size;		/* of each client's rings; a power of two */
	struct client *clients;
	struct page *page;
	struct bio_vec *vecs;	/* all refer to @page */

	wait_queue_head_t reader;
	int need_steps;		/* a client is short of steps */
	spinlock_t log_lock;
	struct modelload_record *log;
	u32 log_size;		/* a power of two */
	u32 log_read;
	u32 log_written;
	u32 log_reserved;	/* space for requests in flight */
	u32 log_blocked;	/* clients that wait for space */
	u32 live;
};

/* Disables interrupts: with them enabled, reading the clock advances a guest's virtual time. */
static inline u64 clock_ns(void)
{
	unsigned long flags;
	u64 now;

	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	return now;
}

/* modelload-client.c */
int client_main(void *data);
void client_kick(struct client *client);
void client_completed(struct client *client, u64 now);
void client_refilled(struct client *client);
int client_init(struct client *client, struct arena *arena, u32 number, u32 depth);
void client_free(struct client *client);

/* modelload-bio.c */
void submit_piece(struct piece *piece);
void submit_flush(struct client *client);

/* modelload-log.c */
int log_init(struct arena *arena, u32 open);
bool log_reserve(struct arena *arena);
void log_done(struct arena *arena, const struct modelload_record *record);
void log_ended(struct client *client);
bool log_worth_reading(struct arena *arena);
ssize_t log_read(struct arena *arena, char __user *to, size_t room);

#endif
