// SPDX-License-Identifier: GPL-2.0
/*
 * What a client does: the simulator's client (crates/sim/src/engine/client.rs), for direct I/O,
 * as a kernel thread.
 *
 * A client is a thread of its own because schedulers keep accounts per process: a thread that
 * submits gets its own I/O context, its end is the end of a process, and its I/O priority is that
 * of an ordinary one.
 *
 * The thread runs once for a request: the completion itself, in interrupt context, draws the
 * turnaround, takes the think time that follows, and sets the timer; the timer wakes the thread.
 * A client's own time is the time that its timer was set to, not the time at which it fired, so
 * that neither the clock's resolution nor the cost of reading it adds up.
 */
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

	if (ring_used(&client->steps) < arena->ring_size / 2 && !client->fed &&
	    !client->told_room)
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

/*
 * The client goes on at this time, at the close of the window at the latest: nobody thinks beyond
 * it.
 */
static void wake_at(struct client *client, enum mood mood, u64 at)
{
	client->mood = mood;
	client->now_ns = min(at, max(client->arena->close_ns, client->now_ns));
	WRITE_ONCE(client->fired, 0);
	hrtimer_start(&client->timer, ns_to_ktime(client->now_ns), HRTIMER_MODE_ABS);
}

/*
 * The client's next step comes when interrupt, wake-up and system call are over, which begin at
 * this time.
 */
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
	/*
	 * Think times that follow are taken here: waking up only to fall asleep again would cost
	 * two switches.
	 */
	while (mood == MOOD_DUE && from < arena->close_ns) {
		step = next_step(client);
		if (!step || step->kind != MODELLOAD_THINK)
			break;
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
void client_heard(struct client *client, u64 now)
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

/* Starts a flush, with client->lock held, which is given up for the while. */
static void flush(struct client *client)
{
	client->mood = MOOD_FLUSHING;
	client->in_flight++;
	spin_unlock_irq(&client->lock);
	submit_flush(client);
	spin_lock_irq(&client->lock);
}

/*
 * Somebody has finished first: whoever waits for its own time ends now, the others with what they
 * are at.
 */
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

/*
 * A flush now, if nothing is in flight, or when all that is has completed. `open`: requests that
 * the client knows to be in flight.
 */
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
 * Takes steps until the client wants something else than to start I/O, or may not. Handing over
 * takes no time, so what completes meanwhile (a device may do so at once) is heard of afterwards:
 * it makes no room for more at the same instant. Where the block layer has no tag left the thread
 * sleeps in the middle of it, as any program's would; the simulator's client hands over all that
 * it may.
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

			if (client->heard)
				end = max(end, client->last_done_ns);
			return close_client(client, end);
		}
		if (open == client->depth)
			return be_full(client);
		step = next_step(client);
		if (!step) {
			client->mood = MOOD_HUNGRY;
			return;
		}
		if ((step->kind == MODELLOAD_IO || step->kind == MODELLOAD_SYNC) &&
		    !log_promise(arena)) {
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
			if (client->heard)
				client->now_ns = max(client->now_ns, client->last_done_ns);
			return close_client(client, client->now_ns);
		}
	}
}

/*
 * The thread is awake: does it have anything to do? False: the client has ended. Called with
 * client->lock held.
 */
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
	bool goes_on;

	/*
	 * Threads that become runnable at the same instant run in the order in which they were
	 * woken, which is all that the simulator knows of a processor: the fair class would order
	 * them by what they have used of it. The I/O priority would follow; it is an ordinary one.
	 */
	sched_set_fifo(current);
	set_task_ioprio(current, BE_4);
	do {
		wait_for_kick(client);
		spin_lock_irq(&client->lock);
		goes_on = take_turn(client);
		spin_unlock_irq(&client->lock);
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
