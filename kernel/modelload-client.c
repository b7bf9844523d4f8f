// SPDX-License-Identifier: GPL-2.0
/*
 * What a client does: the simulator's client (crates/sim/src/engine/client.rs), for direct I/O, as a kernel thread.
 *
 * A client is a thread of its own because schedulers keep accounts per process: a thread that submits gets its own I/O context,
 * its end is the end of a process, and its I/O priority is that of an ordinary one (best effort, 4). Bios are those that pread and
 * pwrite on a block device with O_DIRECT make: reads plain, writes REQ_SYNC | REQ_IDLE; there is no plug, since the simulator's
 * pieces come to the scheduler one by one.
 *
 * The thread runs once for a request: the completion itself, in interrupt context, draws the turnaround, takes the think time that
 * follows, and sets the timer; the timer wakes the thread. A client's own time is the time that its timer was set to, not the time
 * at which it fired, so that neither the clock's resolution nor the cost of reading it adds up.
 */
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "modelload-arena.h"

#define BE_4	IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NORM)

void client_kick(struct client *client)
{
	WRITE_ONCE(client->kicked, 1);
	wake_up_process(client->task);
}

static void wait_for_kick(struct client *client)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (xchg(&client->kicked, 0))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

static bool is_over(struct arena *arena, u64 now)
{
	return now >= arena->close_ns || READ_ONCE(arena->stopping) || READ_ONCE(arena->dying);
}

static u32 ring_used(const struct ring *ring)
{
	return ring->written - ring->taken;
}

/* Steps run low: userland has to know. */
static void say_hungry(struct arena *arena)
{
	if (READ_ONCE(arena->hungry))
		return;
	WRITE_ONCE(arena->hungry, 1);
	wake_up_interruptible(&arena->reader);
}

/* The next step, which stays; NULL: there is none yet. */
static const struct modelload_step *next_step(struct client *client)
{
	struct arena *arena = client->arena;

	if (ring_used(&client->steps) < arena->ring_size / 2 && !client->fed && !client->told_room)
		say_hungry(arena);
	if (!ring_used(&client->steps))
		return NULL;
	return &client->step_table[client->steps.taken & (arena->ring_size - 1)];
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct client *client = container_of(timer, struct client, timer);

	WRITE_ONCE(client->fired, 1);
	client_kick(client);
	return HRTIMER_NORESTART;
}

/* The client goes on at this time, at the close of the window at the latest: nobody thinks beyond it. */
static void wake_at(struct client *client, enum mood mood, u64 at)
{
	client->mood = mood;
	client->now_ns = min(at, max(client->arena->close_ns, client->now_ns));
	WRITE_ONCE(client->fired, 0);
	hrtimer_start(&client->timer, ns_to_ktime(client->now_ns), HRTIMER_MODE_ABS);
}

/* The client's next step comes when interrupt, wake-up and system call are over, which begin at this time. */
static void wake_turned(struct client *client, enum mood mood, u64 from)
{
	struct arena *arena = client->arena;
	u64 turn = arena->turnaround_ns;
	const struct modelload_step *step;

	client->now_ns = from;
	if (arena->rules & MODELLOAD_TURNS_DRAWN) {
		if (!ring_used(&client->turns)) {
			client->mood = mood;
			client->wants_turn = true;
			client->turn_from_ns = from;
			client->turn_mood = mood;
			say_hungry(arena);
			return;
		}
		turn = client->turn_table[client->turns.taken & (arena->ring_size - 1)];
		client->turns.taken++;
	}
	from += max(turn, 1ULL);
	/* Think times that follow are taken here: waking up only to fall asleep again would cost two switches. */
	while (mood == MOOD_DUE && from < arena->close_ns && (step = next_step(client)) && step->kind == MODELLOAD_THINK) {
		from += step->arg;
		client->steps.taken++;
	}
	wake_at(client, mood, from);
}

/* Starts nothing any more, from this time on: waits for what is in flight, and ends. */
static void close_client(struct client *client, u64 now)
{
	client->mood = MOOD_CLOSING;
	client->ended_ns = now;
	client->wants_turn = false;
	if (!client->in_flight)
		client_kick(client);
}

/* A request or a flush is done. */
static void heard_of(struct client *client, u64 now)
{
	bool over = is_over(client->arena, now);

	client->in_flight--;
	switch (client->mood) {
	case MOOD_FULL:
	case MOOD_FLUSHING:
		if (over)
			close_client(client, now);
		else
			wake_turned(client, MOOD_DUE, now);
		break;
	case MOOD_SYNCING:
		if (over)
			close_client(client, now);
		else if (!client->in_flight)
			wake_turned(client, MOOD_DUE_FLUSH, now);
		break;
	case MOOD_CLOSING:
		close_client(client, now);
		break;
	case MOOD_RUNNING:
		if (!client->heard)
			client->first_done_ns = now;
		client->heard = true;
		client->last_done_ns = now;
		break;
	default:
		break;
	}
}

static void piece_end_io(struct bio *bio)
{
	struct piece *piece = bio->bi_private;
	struct client *client = piece->client;
	struct modelload_record record;
	unsigned long flags;

	if (bio->bi_status)
		WRITE_ONCE(piece->error, blk_status_to_errno(bio->bi_status));
	bio_uninit(bio);
	if (!atomic_dec_and_test(&piece->open))
		return;
	record = (struct modelload_record) {
		.submitted_ns = piece->submitted_ns,
		.completed_ns = clock_ns(),
		.offset = piece->offset,
		.bytes = piece->bytes,
		.error = READ_ONCE(piece->error),
		.client = client->number,
		.kind = MODELLOAD_DONE,
		.op = piece->op,
	};
	spin_lock_irqsave(&client->lock, flags);
	log_done(client->arena, &record);
	list_add(&piece->node, &client->free);
	heard_of(client, record.completed_ns);
	spin_unlock_irqrestore(&client->lock, flags);
}

static void flush_end_io(struct bio *bio)
{
	struct client *client = bio->bi_private;
	struct modelload_record record = {
		.submitted_ns = client->flush_ns,
		.completed_ns = clock_ns(),
		.error = blk_status_to_errno(bio->bi_status),
		.client = client->number,
		.kind = MODELLOAD_SYNCED,
	};
	unsigned long flags;

	bio_uninit(bio);
	spin_lock_irqsave(&client->lock, flags);
	log_done(client->arena, &record);
	heard_of(client, record.completed_ns);
	spin_unlock_irqrestore(&client->lock, flags);
}

/* Hands a piece to the block layer, in bios as large as those of direct I/O. */
static void submit_piece(struct piece *piece)
{
	struct arena *arena = piece->client->arena;
	blk_opf_t opf = piece->op == MODELLOAD_WRITE ? REQ_OP_WRITE | REQ_SYNC | REQ_IDLE : REQ_OP_READ;
	u32 i, n = DIV_ROUND_UP(piece->bytes, BIO_BYTES);

	atomic_set(&piece->open, n);
	piece->error = 0;
	piece->submitted_ns = clock_ns();
	/* With its last bio the piece may be used anew: no look at it after that. */
	for (i = 0; i < n; i++) {
		u32 done = i * BIO_BYTES;
		u32 bytes = min_t(u32, piece->bytes - done, BIO_BYTES);
		struct bio *bio = &piece->bios[i];

		bio_init(bio, arena->disk, arena->vecs, BIO_MAX_VECS, opf);
		bio->bi_vcnt = DIV_ROUND_UP(bytes, PAGE_SIZE);
		bio->bi_iter.bi_sector = (piece->offset + done) >> SECTOR_SHIFT;
		bio->bi_iter.bi_size = bytes;
		bio->bi_ioprio = BE_4;
		bio->bi_private = piece;
		bio->bi_end_io = piece_end_io;
		submit_bio(bio);
	}
}

/* What fsync on a block device does, after which nothing of the client is in flight. */
static void submit_flush(struct client *client)
{
	struct bio *bio = &client->flush;

	client->flush_ns = clock_ns();
	bio_init(bio, client->arena->disk, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	bio->bi_private = client;
	bio->bi_end_io = flush_end_io;
	submit_bio(bio);
}

/* Starts a flush if there is room to tell of it. Called with client->lock held, which it lets go of. */
static void flush(struct client *client)
{
	client->mood = MOOD_FLUSHING;
	client->in_flight++;
	spin_unlock_irq(&client->lock);
	submit_flush(client);
	spin_lock_irq(&client->lock);
}

/* Somebody has finished first: whoever waits for its own time ends now, the others with what they are at. */
static void stop_others(struct client *client)
{
	struct arena *arena = client->arena;
	u32 i;

	if (arena->stopping)
		return;
	arena->stop_ns = client->now_ns;
	WRITE_ONCE(arena->stopping, 1);
	for (i = 0; i < arena->nr_clients; i++)
		if (i != client->number)
			client_kick(&arena->clients[i]);
}

/* A step of kind IO, with client->lock held, which is given up for the while. */
static void start_piece(struct client *client, const struct modelload_step *step)
{
	struct piece *piece = list_first_entry(&client->free, struct piece, node);

	list_del(&piece->node);
	piece->offset = step->arg;
	piece->bytes = step->bytes;
	piece->op = step->op;
	client->steps.taken++;
	client->in_flight++;
	spin_unlock_irq(&client->lock);
	submit_piece(piece);
	cond_resched();
	spin_lock_irq(&client->lock);
}

/* A flush now, if nothing is in flight, or when all that is has completed. `open`: requests that the client knows to be in flight. */
static void start_sync(struct client *client, u32 open)
{
	if (!open)
		flush(client);
	else if (client->in_flight)
		client->mood = MOOD_SYNCING;
	else
		wake_turned(client, MOOD_DUE_FLUSH, client->last_done_ns);
}

/* All that the client may have open is open. Some of it may have completed on the way. */
static void be_full(struct client *client)
{
	if (client->heard)
		wake_turned(client, MOOD_DUE, client->first_done_ns);
	else
		client->mood = MOOD_FULL;
}

/*
 * Takes steps until the client wants something else than to start I/O, or may not. What completes meanwhile is heard of afterwards: it does
 * not make room for more at the same instant.
 */
static void take_steps(struct client *client)
{
	struct arena *arena = client->arena;
	u32 open = client->in_flight;

	client->mood = MOOD_RUNNING;
	client->heard = false;
	for (;;) {
		const struct modelload_step *step;

		if (is_over(arena, max(client->now_ns, clock_ns()))) {
			u64 end = READ_ONCE(arena->stopping) ? arena->stop_ns : client->now_ns;

			return close_client(client, max(end, client->heard ? client->last_done_ns : 0));
		}
		if (open == client->depth)
			return be_full(client);
		step = next_step(client);
		if (!step) {
			client->mood = MOOD_HUNGRY;
			return;
		}
		if ((step->kind == MODELLOAD_IO || step->kind == MODELLOAD_SYNC) && !log_promise(arena)) {
			client->mood = MOOD_BLOCKED;
			return;
		}
		switch (step->kind) {
		case MODELLOAD_IO:
			start_piece(client, step);
			open++;
			break;
		case MODELLOAD_THINK:
			client->steps.taken++;
			return wake_at(client, MOOD_DUE, client->now_ns + step->arg);
		case MODELLOAD_SYNC:
			client->steps.taken++;
			return start_sync(client, open);
		default:
			client->finished = true;
			if (arena->rules & MODELLOAD_FIRST_STOPS_ALL)
				stop_others(client);
			return close_client(client, max(client->now_ns, client->heard ? client->last_done_ns : 0));
		}
	}
}

/* The thread is awake: does it have anything to do? False: the client has ended. Called with client->lock held. */
static bool take_turn(struct client *client)
{
	struct arena *arena = client->arena;

	switch (client->mood) {
	case MOOD_UNBORN:
	case MOOD_HUNGRY:
	case MOOD_BLOCKED:
		take_steps(client);
		break;
	case MOOD_DUE:
		if (READ_ONCE(client->fired) || is_over(arena, 0))
			take_steps(client);
		break;
	case MOOD_DUE_FLUSH:
		if (!READ_ONCE(client->fired) && !READ_ONCE(arena->dying))
			break;
		if (is_over(arena, client->now_ns))
			close_client(client, client->now_ns);
		else
			flush(client);
		break;
	default:
		if (READ_ONCE(arena->dying))
			close_client(client, client->now_ns);
		break;
	}
	return client->mood != MOOD_CLOSING || client->in_flight;
}

int client_main(void *data)
{
	struct client *client = data;
	struct arena *arena = client->arena;
	bool first = true;
	bool goes_on;

	do {
		wait_for_kick(client);
		spin_lock_irq(&client->lock);
		goes_on = take_turn(client);
		spin_unlock_irq(&client->lock);
		/* Clients start one after the other. */
		if (first && client->number + 1 < arena->nr_clients)
			client_kick(&arena->clients[client->number + 1]);
		first = false;
	} while (goes_on);
	hrtimer_cancel(&client->timer);
	log_ended(client);
	return 0;
}

/* Userland has written steps or turnarounds. Called with client->lock held. */
void client_fed(struct client *client)
{
	client->told_room = false;
	if (client->wants_turn && ring_used(&client->turns)) {
		client->wants_turn = false;
		wake_turned(client, client->turn_mood, client->turn_from_ns);
	} else if (client->mood == MOOD_HUNGRY) {
		client_kick(client);
	}
}

int client_init(struct client *client, struct arena *arena, u32 number, u32 depth)
{
	size_t size = struct_size((struct piece *)NULL, bios, DIV_ROUND_UP(arena->max_bytes, BIO_BYTES));
	u32 i;

	client->arena = arena;
	client->number = number;
	client->depth = depth;
	spin_lock_init(&client->lock);
	INIT_LIST_HEAD(&client->free);
	compat_hrtimer_setup(&client->timer, timer_fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	size = ALIGN(size, __alignof__(struct piece));
	client->pieces = kvcalloc(depth, size, GFP_KERNEL);
	client->step_table = kvcalloc(arena->ring_size, sizeof(*client->step_table), GFP_KERNEL);
	client->turn_table = kvcalloc(arena->ring_size, sizeof(*client->turn_table), GFP_KERNEL);
	if (!client->pieces || !client->step_table || !client->turn_table)
		return -ENOMEM;
	for (i = 0; i < depth; i++) {
		struct piece *piece = client->pieces + i * size;

		piece->client = client;
		list_add_tail(&piece->node, &client->free);
	}
	return 0;
}

void client_free(struct client *client)
{
	kvfree(client->pieces);
	kvfree(client->step_table);
	kvfree(client->turn_table);
}
