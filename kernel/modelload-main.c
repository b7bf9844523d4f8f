// SPDX-License-Identifier: GPL-2.0
/*
 * modelload: a workload's clients as kernel threads, which execute steps that userspace writes to
 * /dev/modelload. In User-mode Linux a system call costs several context switches of the host, a
 * switch between kernel threads none.
 *
 * See modelload.h for the protocol. Written data are meaningless: use it only on disks whose
 * contents do not matter.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "modelload-arena.h"

/* crates/guest/src/load/wire.rs has the same layouts. */
static_assert(sizeof(struct modelload_setup) == 48);
static_assert(sizeof(struct modelload_start) == 16);
static_assert(sizeof(struct modelload_step) == 16);
static_assert(sizeof(struct modelload_record) == 40);

/* Steps in all clients' rings, and the bounds of one ring. */
#define STEPS_IN_ALL	(1U << 18)
#define STEPS_MIN	64U
#define STEPS_MAX	1024U
#define STEPS_AT_ONCE	1024

/* Frees all but the arena. */
static void tear_down(struct arena *arena)
{
	u32 i;

	WRITE_ONCE(arena->dying, 1);
	hrtimer_cancel(&arena->start_timer);
	for (i = 0; i < arena->nr_created && arena->started; i++)
		client_kick(&arena->clients[i]);
	/*
	 * Also for threads that have ended. All end before the first is freed, because they wake
	 * each other.
	 */
	for (i = 0; i < arena->nr_created; i++)
		kthread_stop(arena->clients[i].task);
	for (i = 0; i < arena->nr_created; i++)
		put_task_struct(arena->clients[i].task);
	for (i = 0; arena->clients && i < arena->nr_clients; i++)
		client_free(&arena->clients[i]);
	kvfree(arena->clients);
	kvfree(arena->vecs);
	vfree(arena->log);
	if (arena->page)
		__free_page(arena->page);
	if (arena->disk_file)
		fput(arena->disk_file);
	arena->clients = NULL;
	arena->vecs = NULL;
	arena->log = NULL;
	arena->page = NULL;
	arena->disk_file = NULL;
	arena->nr_clients = 0;
	arena->nr_created = 0;
	arena->dying = 0;
}

static int take_disk(struct arena *arena, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	arena->disk_file = file;
	if (!S_ISBLK(file_inode(file)->i_mode))
		return -ENOTBLK;
	if (!(file->f_mode & FMODE_READ))
		return -EACCES;
	arena->may_write = file->f_mode & FMODE_WRITE;
	arena->disk = I_BDEV(file->f_mapping->host);
	arena->disk_bytes = bdev_nr_bytes(arena->disk);
	return 0;
}

static int make_buffer(struct arena *arena)
{
	u32 i;

	arena->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	arena->vecs = kvcalloc(BIO_MAX_VECS, sizeof(*arena->vecs), GFP_KERNEL);
	if (!arena->page || !arena->vecs)
		return -ENOMEM;
	for (i = 0; i < BIO_MAX_VECS; i++)
		arena->vecs[i] = (struct bio_vec) { .bv_page = arena->page, .bv_len = PAGE_SIZE };
	return 0;
}

static int make_clients(struct arena *arena, const u32 *depths)
{
	u32 i;
	int err;

	for (i = 0; i < arena->nr_clients; i++) {
		struct client *client = &arena->clients[i];

		err = client_init(client, arena, i, depths[i]);
		if (err)
			return err;
	}
	for (i = 0; i < arena->nr_clients; i++) {
		struct task_struct *task;

		task = kthread_create(client_main, &arena->clients[i], "modelload/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		get_task_struct(task);
		arena->clients[i].task = task;
		arena->nr_created++;
	}
	return 0;
}

static int check_setup(const struct modelload_setup *setup, const u32 *depths)
{
	u64 open = 0;
	u32 i;

	if (setup->version != MODELLOAD_VERSION)
		return -EPROTO;
	if (setup->rules & ~(MODELLOAD_FIRST_STOPS_ALL | MODELLOAD_TURNS_DRAWN))
		return -EINVAL;
	if (setup->max_bytes < SECTOR_SIZE || setup->max_bytes > MODELLOAD_MAX_BYTES)
		return -EINVAL;
	if (setup->warmup_ns > MODELLOAD_MAX_NS || setup->duration_ns > MODELLOAD_MAX_NS ||
	    setup->turnaround_ns > MODELLOAD_MAX_NS)
		return -EINVAL;
	for (i = 0; i < setup->head.count; i++) {
		if (!depths[i] || depths[i] > MODELLOAD_MAX_DEPTH)
			return -EINVAL;
		open += depths[i];
	}
	return open <= MODELLOAD_MAX_OPEN ? (int)open : -EINVAL;
}

static int build(struct arena *arena, const struct modelload_setup *setup, const u32 *depths,
		 u32 open)
{
	u32 share = rounddown_pow_of_two(STEPS_IN_ALL / setup->head.count);
	int err;

	arena->rules = setup->rules;
	arena->max_bytes = setup->max_bytes;
	arena->warmup_ns = setup->warmup_ns;
	arena->duration_ns = setup->duration_ns;
	arena->turnaround_ns = setup->turnaround_ns;
	arena->ring_size = clamp(share, STEPS_MIN, STEPS_MAX);
	arena->need_steps = 1;
	err = take_disk(arena, setup->disk_fd);
	if (err)
		return err;
	arena->clients = kvcalloc(setup->head.count, sizeof(*arena->clients), GFP_KERNEL);
	if (!arena->clients)
		return -ENOMEM;
	arena->nr_clients = setup->head.count;
	arena->live = setup->head.count;
	err = make_buffer(arena) ?: log_init(arena, open);
	return err ?: make_clients(arena, depths);
}

static ssize_t write_setup(struct arena *arena, const char __user *from, size_t bytes)
{
	struct modelload_setup setup;
	size_t size;
	u32 *depths;
	int err;

	if (arena->nr_clients)
		return -EBUSY;
	if (bytes < sizeof(setup) || copy_from_user(&setup, from, sizeof(setup)))
		return bytes < sizeof(setup) ? -EINVAL : -EFAULT;
	if (!setup.head.count || setup.head.count > MODELLOAD_MAX_CLIENTS)
		return -EINVAL;
	size = setup.head.count * sizeof(u32);
	if (bytes != sizeof(setup) + size)
		return -EINVAL;
	depths = memdup_user(from + sizeof(setup), size);
	if (IS_ERR(depths))
		return PTR_ERR(depths);
	err = check_setup(&setup, depths);
	if (err >= 0)
		err = build(arena, &setup, depths, err);
	if (err)
		tear_down(arena);
	kfree(depths);
	return err ?: (ssize_t)bytes;
}

static int check_step(struct arena *arena, const struct modelload_step *step)
{
	if (step->client >= arena->nr_clients)
		return -EINVAL;
	switch (step->kind) {
	case MODELLOAD_IO:
		if (step->op > MODELLOAD_WRITE || !step->bytes || step->bytes > arena->max_bytes)
			return -EINVAL;
		if (!IS_ALIGNED(step->arg | step->bytes, SECTOR_SIZE))
			return -EINVAL;
		if (step->op == MODELLOAD_WRITE && !arena->may_write)
			return -EBADF;
		if (step->arg > arena->disk_bytes || step->bytes > arena->disk_bytes - step->arg)
			return -ENOSPC;
		return 0;
	case MODELLOAD_THINK:
	case MODELLOAD_TURN:
		return step->arg <= MODELLOAD_MAX_NS ? 0 : -EINVAL;
	case MODELLOAD_SYNC:
	case MODELLOAD_END:
		return 0;
	default:
		return -EINVAL;
	}
}

static int add_step(struct arena *arena, const struct modelload_step *step)
{
	struct client *client = &arena->clients[step->client];
	bool turn = step->kind == MODELLOAD_TURN;
	struct ring *ring = turn ? &client->turns : &client->steps;
	u32 at = ring->written & (arena->ring_size - 1);

	if (ring->written - ring->taken == arena->ring_size)
		return -ENOBUFS;
	if (client->last_written && !turn)
		return -EINVAL;
	if (turn)
		client->turn_table[at] = step->arg;
	else
		client->step_table[at] = *step;
	ring->written++;
	client->last_written |= step->kind == MODELLOAD_END;
	return 0;
}

/* Takes each client's lock once per run of its steps. */
static int add_steps(struct arena *arena, const struct modelload_step *steps, u32 count)
{
	u32 i = 0;
	int err = 0;

	while (i < count && !err) {
		struct client *client;
		u16 number = steps[i].client;

		err = check_step(arena, &steps[i]);
		if (err)
			break;
		client = &arena->clients[number];
		spin_lock_irq(&client->lock);
		do {
			err = check_step(arena, &steps[i]) ?: add_step(arena, &steps[i]);
		} while (!err && ++i < count && steps[i].client == number);
		client_refilled(client);
		spin_unlock_irq(&client->lock);
	}
	return err;
}

static ssize_t write_steps(struct arena *arena, const char __user *from, size_t bytes, u32 count)
{
	struct modelload_step *steps;
	u32 done = 0;
	int err = 0;

	if (bytes != sizeof(struct modelload_head) + (u64)count * sizeof(*steps))
		return -EINVAL;
	from += sizeof(struct modelload_head);
	steps = kvmalloc_array(STEPS_AT_ONCE, sizeof(*steps), GFP_KERNEL);
	if (!steps)
		return -ENOMEM;
	while (done < count && !err) {
		u32 part = min_t(u32, count - done, STEPS_AT_ONCE);

		if (copy_from_user(steps, from + done * sizeof(*steps), part * sizeof(*steps)))
			err = -EFAULT;
		else
			err = add_steps(arena, steps, part);
		done += part;
	}
	kvfree(steps);
	return err ?: (ssize_t)bytes;
}

static enum hrtimer_restart start_clients(struct hrtimer *timer)
{
	struct arena *arena = container_of(timer, struct arena, start_timer);
	u32 i;

	for (i = 0; i < arena->nr_clients; i++)
		client_kick(&arena->clients[i]);
	return HRTIMER_NORESTART;
}

static ssize_t write_start(struct arena *arena, const char __user *from, size_t bytes)
{
	struct modelload_record record = { .kind = MODELLOAD_STARTED };
	struct modelload_start start;
	u64 now;
	u32 i;

	if (bytes != sizeof(start))
		return -EINVAL;
	if (copy_from_user(&start, from, sizeof(start)))
		return -EFAULT;
	if (arena->started)
		return -EBUSY;
	now = clock_ns();
	if (start.at_ns > now + MODELLOAD_MAX_NS)
		return -EINVAL;
	now = max(now, start.at_ns);
	arena->close_ns = now + arena->warmup_ns + arena->duration_ns;
	for (i = 0; i < arena->nr_clients; i++)
		arena->clients[i].now_ns = now;
	record.submitted_ns = now;
	log_done(arena, &record);
	arena->started = true;
	/* By the timer, so that a past start time behaves like a future one. */
	hrtimer_start(&arena->start_timer, ns_to_ktime(now), HRTIMER_MODE_ABS);
	return bytes;
}

static ssize_t modelload_write(struct file *file, const char __user *from, size_t bytes,
			       loff_t *pos)
{
	struct arena *arena = file->private_data;
	struct modelload_head head;
	ssize_t ret = -EINVAL;

	if (bytes < sizeof(head))
		return -EINVAL;
	if (copy_from_user(&head, from, sizeof(head)))
		return -EFAULT;
	mutex_lock(&arena->io);
	if (head.what == MODELLOAD_SETUP)
		ret = write_setup(arena, from, bytes);
	else if (head.what == MODELLOAD_STEPS && arena->nr_clients)
		ret = write_steps(arena, from, bytes, head.count);
	else if (head.what == MODELLOAD_START && arena->nr_clients)
		ret = write_start(arena, from, bytes);
	mutex_unlock(&arena->io);
	return ret;
}

static ssize_t modelload_read(struct file *file, char __user *to, size_t bytes, loff_t *pos)
{
	struct arena *arena = file->private_data;
	bool through = false;
	ssize_t ret = 0;

	if (bytes < sizeof(struct modelload_record))
		return -EINVAL;
	while (!ret && !through) {
		mutex_lock(&arena->io);
		if (!arena->nr_clients) {
			ret = -EINVAL;
		} else {
			/*
			 * Checked before reading: records written before the last client ended are
			 * then read.
			 */
			through = !READ_ONCE(arena->live);
			ret = log_read(arena, to, bytes);
		}
		mutex_unlock(&arena->io);
		if (!ret && !through &&
		    wait_event_interruptible(arena->reader, log_worth_reading(arena)))
			ret = -ERESTARTSYS;
	}
	return ret;
}

static int modelload_open(struct inode *inode, struct file *file)
{
	struct arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL);

	if (!arena)
		return -ENOMEM;
	mutex_init(&arena->io);
	spin_lock_init(&arena->log_lock);
	init_waitqueue_head(&arena->reader);
	compat_hrtimer_setup(&arena->start_timer, start_clients, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	file->private_data = arena;
	return stream_open(inode, file);
}

static int modelload_release(struct inode *inode, struct file *file)
{
	struct arena *arena = file->private_data;

	tear_down(arena);
	kfree(arena);
	return 0;
}

static const struct file_operations modelload_fops = {
	.owner = THIS_MODULE,
	.open = modelload_open,
	.release = modelload_release,
	.read = modelload_read,
	.write = modelload_write,
};

static struct miscdevice modelload_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "modelload",
	.fops = &modelload_fops,
	.mode = 0600,
};

module_misc_device(modelload_device);
MODULE_DESCRIPTION("Clients of a schedlab workload as kernel threads");
MODULE_LICENSE("GPL");
