// SPDX-License-Identifier: GPL-2.0
/*
 * A client: the simulator's client (crates/sim/src/engine/client.rs) as a kernel thread doing
 * direct I/O. Schedulers account per process, so each client is a thread with its own io_context,
 * exit and I/O priority.
 *
 * The thread runs once per request. The completion, in interrupt context, consumes the following
 * turnaround and think time and sets the timer that wakes the thread. A client's time is its
 * timer's set expiry, so neither clock resolution nor reading cost accumulates.
 */
#include <linux/blkdev.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "modelload-arena.h"

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

static void request_steps(struct arena *arena)
{
	if (READ_ONCE(arena->need_steps))
		return;
	WRITE_ONCE(arena->need_steps, 1);
	wake_up_interruptible(&arena->reader);
}

/* Does not consume the step; NULL if none was written. */
static const struct modelload_step *next_step(struct client *client)
{
	struct arena *arena = client->arena;

	if (ring_used(&client->steps) < arena->ring_size / 2 && !client->last_written &&
	    !client->room_reported)
		request_steps(arena);
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

/* Or at the end of the window, if earlier. */
static void wake_at(struct client *client, enum client_state state, u64 at)
{
	client->state = state;
	client->now_ns = min(at, max(client->arena->close_ns, client->now_ns));
	WRITE_ONCE(client->fired, 0);
	hrtimer_start(&client->timer, ns_to_ktime(client->now_ns), HRTIMER_MODE_ABS);
}

/* One turnaround (interrupt, wake-up, system call) after @from. */
static void wake_turned(struct client *client, enum client_state state, u64 from)
{
	struct arena *arena = client->arena;
	u64 turn = arena->turnaround_ns;
	const struct modelload_step *step;

	client->now_ns = from;
	if (arena->rules & MODELLOAD_TURNS_DRAWN) {
		if (!ring_used(&client->turns)) {
			client->state = state;
			client->needs_turn = true;
			client->turn_from_ns = from;
			client->turn_state = state;
			request_steps(arena);
			return;
		}
		turn = client->turn_table[client->turns.taken & (arena->ring_size - 1)];
		client->turns.taken++;
	}
	from += max(turn, 1ULL);
	/* Think times are consumed here: waking the thread to sleep again costs two switches. */
	while (state == CLIENT_DUE && from < arena->close_ns) {
		step = next_step(client);
		if (!step || step->kind != MODELLOAD_THINK)
			break;
		from += step->arg;
		client->steps.taken++;
	}
	wake_at(client, state, from);
}

static void close_client(struct client *client, u64 now)
{
	client->state = CLIENT_CLOSING;
	client->ended_ns = now;
	client->needs_turn = false;
	if (!client->in_flight)
		client_kick(client);
}

void client_completed(struct client *client, u64 now)
{
	bool over = is_over(client->arena, now);

	client->in_flight--;
	switch (client->state) {
	case CLIENT_DEPTH_FULL:
	case CLIENT_FLUSHING:
		if (over)
			close_client(client, now);
		else
			wake_turned(client, CLIENT_DUE, now);
		break;
	case CLIENT_SYNCING:
		if (over)
			close_client(client, now);
		else if (!client->in_flight)
			wake_turned(client, CLIENT_DUE_FLUSH, now);
		break;
	case CLIENT_CLOSING:
		close_client(client, now);
		break;
	case CLIENT_RUNNING:
		if (!client->completed)
			client->first_done_ns = now;
		client->completed = true;
		client->last_done_ns = now;
		break;
	default:
		break;
	}
}

/* Drops and retakes client->lock. */
static void flush(struct client *client)
{
	client->state = CLIENT_FLUSHING;
	client->in_flight++;
	spin_unlock_irq(&client->lock);
	submit_flush(client);
	spin_lock_irq(&client->lock);
}

/* Clients that wait for their timer end now, others after their requests in flight. */
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

/* Executes MODELLOAD_IO. Drops and retakes client->lock. */
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

/* @open: requests in flight whose completion the client has not handled. */
static void start_sync(struct client *client, u32 open)
{
	if (!open)
		flush(client);
	else if (client->in_flight)
		client->state = CLIENT_SYNCING;
	else
		wake_turned(client, CLIENT_DUE_FLUSH, client->last_done_ns);
}

/* The client has reached its iodepth, although some requests may have completed since. */
static void enter_depth_full(struct client *client)
{
	if (client->completed)
		wake_turned(client, CLIENT_DUE, client->first_done_ns);
	else
		client->state = CLIENT_DEPTH_FULL;
}

/*
 * Up to the first that is not I/O, or to the iodepth. Submission takes no time, so completions
 * during it make no room and are handled afterwards. Without a free tag the thread sleeps, as a
 * program does.
 */
static void take_steps(struct client *client)
{
	struct arena *arena = client->arena;
	u32 open = client->in_flight;

	client->state = CLIENT_RUNNING;
	client->completed = false;
	for (;;) {
		const struct modelload_step *step;

		if (is_over(arena, max(client->now_ns, clock_ns()))) {
			u64 end = READ_ONCE(arena->stopping) ? arena->stop_ns : client->now_ns;

			if (client->completed)
				end = max(end, client->last_done_ns);
			return close_client(client, end);
		}
		if (open == client->depth)
			return enter_depth_full(client);
		step = next_step(client);
		if (!step) {
			client->state = CLIENT_NEED_STEPS;
			return;
		}
		if ((step->kind == MODELLOAD_IO || step->kind == MODELLOAD_SYNC) &&
		    !log_reserve(arena)) {
			client->state = CLIENT_LOG_FULL;
			return;
		}
		switch (step->kind) {
		case MODELLOAD_IO:
			start_piece(client, step);
			open++;
			break;
		case MODELLOAD_THINK:
			client->steps.taken++;
			return wake_at(client, CLIENT_DUE, client->now_ns + step->arg);
		case MODELLOAD_SYNC:
			client->steps.taken++;
			return start_sync(client, open);
		default:
			client->finished = true;
			if (arena->rules & MODELLOAD_FIRST_STOPS_ALL)
				stop_others(client);
			if (client->completed)
				client->now_ns = max(client->now_ns, client->last_done_ns);
			return close_client(client, client->now_ns);
		}
	}
}

/* Runs the client after a wake-up, under client->lock. Returns false when it has ended. */
static bool run_client(struct client *client)
{
	struct arena *arena = client->arena;

	switch (client->state) {
	case CLIENT_NEW:
	case CLIENT_NEED_STEPS:
	case CLIENT_LOG_FULL:
		take_steps(client);
		break;
	case CLIENT_DUE:
		if (READ_ONCE(client->fired) || is_over(arena, 0))
			take_steps(client);
		break;
	case CLIENT_DUE_FLUSH:
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
	return client->state != CLIENT_CLOSING || client->in_flight;
}

/*
 * Requests of one system call are plugged: io_submit does so above AIO_PLUG_THRESHOLD, 2
 * (fs/aio.c).
 */
#define MIN_PLUGGED 3

int client_main(void *data)
{
	struct client *client = data;
	struct blk_plug plug;
	bool goes_on, plugged;

	/*
	 * Threads woken at the same time run in wake-up order, as in the simulator; the fair class
	 * would order them by CPU time. The default I/O priority overrides that of this policy.
	 */
	sched_set_fifo(current);
	set_task_ioprio(current, BE_4);
	do {
		wait_for_kick(client);
		plugged = client->depth - READ_ONCE(client->in_flight) >= MIN_PLUGGED;
		if (plugged)
			blk_start_plug(&plug);
		spin_lock_irq(&client->lock);
		goes_on = run_client(client);
		spin_unlock_irq(&client->lock);
		if (plugged)
			blk_finish_plug(&plug);
	} while (goes_on);
	hrtimer_cancel(&client->timer);
	log_ended(client);
	return 0;
}

/* Userspace has written steps or turnarounds. Requires client->lock. */
void client_refilled(struct client *client)
{
	client->room_reported = false;
	if (client->needs_turn && ring_used(&client->turns)) {
		client->needs_turn = false;
		wake_turned(client, client->turn_state, client->turn_from_ns);
	} else if (client->state == CLIENT_NEED_STEPS) {
		client_kick(client);
	}
}

int client_init(struct client *client, struct arena *arena, u32 number, u32 depth)
{
	u32 i, nr_bios = DIV_ROUND_UP(arena->max_bytes, BIO_BYTES);
	size_t size = struct_size((struct piece *)NULL, bios, nr_bios);

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
