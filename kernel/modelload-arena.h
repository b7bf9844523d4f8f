/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The inside of modelload: one pass of a workload (struct arena), its clients and their requests.
 * modelload-client.c is what a client does, modelload-bio.c how it does I/O, modelload-log.c what
 * it tells, modelload-main.c how userland comes to it.
 *
 * Locks, the outer one first: arena.io (a mutex: one system call at a time) > client.lock >
 * arena.log_lock. The two spinlocks are taken in the completion of bios, thus with interrupts off
 * everywhere.
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

/* What one bio takes, as one of direct I/O does: 256 pages. */
#define BIO_BYTES	(BIO_MAX_VECS * PAGE_SIZE)

/* The I/O priority of an ordinary process. */
#define BE_4	IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM)

enum mood {
	MOOD_UNBORN,	/* the pass has not started for it */
	MOOD_DUE,	/* takes steps when its timer has fired */
	MOOD_DUE_FLUSH,	/* flushes when its timer has fired */
	MOOD_RUNNING,	/* takes steps */
	MOOD_HUNGRY,	/* goes on when userland has written steps */
	MOOD_BLOCKED,	/* goes on when userland has read records */
	MOOD_FULL,	/* goes on after a completion */
	MOOD_SYNCING,	/* waits for everything in flight, then flushes */
	MOOD_FLUSHING,	/* waits for its flush */
	MOOD_CLOSING,	/* waits for everything in flight, then ends */
};

struct client;

/* A request of a client; a large one is several bios. */
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

/* Steps or turnarounds that userland has written and nobody has taken; the numbers run on. */
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
	enum mood mood;
	u32 in_flight;
	u64 now_ns;		/* its own time: the one that its timer was set to */
	u64 ended_ns;
	bool finished;
	bool fed;		/* its last step has been written */
	bool wants_turn;	/* a turnaround has to be known before the timer can be set */
	bool told_room;		/* userland knows that there is room */
	u64 turn_from_ns;
	enum mood turn_mood;
	/* Completions while it takes steps, of which it hears afterwards. */
	bool heard;
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
	u64 stop_ns;		/* when a client has stopped the others */
	int stopping;
	int dying;

	u32 nr_clients;
	u32 nr_created;
	u32 ring_size;		/* of each client's tables; a power of two */
	struct client *clients;
	struct page *page;
	struct bio_vec *vecs;	/* one page again and again */

	wait_queue_head_t reader;
	int hungry;		/* somebody is short of steps */
	spinlock_t log_lock;
	struct modelload_record *log;
	u32 log_size;		/* a power of two */
	u32 log_read;
	u32 log_written;
	u32 log_promised;	/* records that are sure to come */
	u32 log_blocked;	/* clients that wait for room */
	u32 live;
};

/*
 * The clock. With interrupts on, reading it costs virtual time in a guest whose time is
 * simulated; with interrupts off it does not.
 */
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
void client_heard(struct client *client, u64 now);
void client_fed(struct client *client);
int client_init(struct client *client, struct arena *arena, u32 number, u32 depth);
void client_free(struct client *client);

/* modelload-bio.c */
void submit_piece(struct piece *piece);
void submit_flush(struct client *client);

/* modelload-log.c */
int log_init(struct arena *arena, u32 open);
bool log_promise(struct arena *arena);
void log_done(struct arena *arena, const struct modelload_record *record);
void log_ended(struct client *client);
bool log_worth_reading(struct arena *arena);
ssize_t log_read(struct arena *arena, char __user *to, size_t room);

#endif
