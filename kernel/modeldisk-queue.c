// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of a modelled disk: issued requests enter the model and complete at the model's times.
 *
 * As with SCSI disks, and in the simulator, the adapter has more tags than the disk accepts
 * commands. A budget bounds the requests issued, so that the scheduler holds those that the disk
 * cannot accept.
 *
 * Commands and a timer at each event advance the model, which uses its own times, so late timers do
 * not accumulate while the disk is busy. The timer completes all requests.
 */
#include <linux/delay.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/tick.h>
#include <linux/vmalloc.h>

#include "compat-disk.h"
#include "modeldisk-device.h"

/* Work between two requests that counts for later ones. */
#define MOST_CREDIT_NS	(1ll * NSEC_PER_MSEC)

enum verdict { SERVE, FAIL, HOLD };

u64 modeldisk_now(const struct modeldisk *dev)
{
	u64 now = ktime_get_ns();

	return now > dev->epoch_ns ? now - dev->epoch_ns : 0;
}

/* Removes a request from the disk; the timer completes it. */
static void finish(struct modeldisk *dev, u32 tag, blk_status_t status)
{
	struct modeldisk_slot *slot = &dev->slots[tag];
	struct modeldisk_cmd *cmd = blk_mq_rq_to_pdu(slot->rq);

	cmd->status = status;
	list_add_tail(&cmd->done, &dev->done);
	slot->rq = NULL;
	slot->held = false;
	dev->inside--;
	dev->budget_used--;
}

struct advancing {
	struct modeldisk *dev;
	u64 now;
};

static void model_done(void *ctx, u32 tag, u64 at)
{
	const struct advancing *advancing = ctx;
	struct modeldisk *dev = advancing->dev;
	struct modeldisk_slot *slot = &dev->slots[tag];
	u64 late = advancing->now - at;

	dev->counters.late_ns += late;
	dev->counters.max_late_ns = max(dev->counters.max_late_ns, late);
	if (dev->log && slot->record != ~0u) {
		dev->log[slot->record].done_ns = at;
		dev->log[slot->record].completed_ns = advancing->now;
		dev->log[slot->record].done = 1;
	}
	/* NULL if it failed when the disk was set to gone. */
	if (slot->rq)
		finish(dev, tag, BLK_STS_OK);
}

static void advance(struct modeldisk *dev, u64 now)
{
	struct advancing advancing = { dev, now };

	core_disk_advance(dev->core, now, model_done, &advancing);
}

/* Sets the timer to the next event, or to now if there are requests to complete. */
static void arm(struct modeldisk *dev, u64 now)
{
	u64 next = list_empty(&dev->done) ? core_disk_next_event(dev->core) : now;

	if (next == dev->armed_ns)
		return;
	dev->armed_ns = next;
	if (next != CORE_DISK_NEVER)
		hrtimer_start(&dev->timer, ns_to_ktime(dev->epoch_ns + next), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	struct modeldisk *dev = container_of(timer, struct modeldisk, timer);
	struct modeldisk_cmd *cmd, *next;
	LIST_HEAD(done);
	unsigned long flags;
	bool run;
	u64 now;

	spin_lock_irqsave(&dev->lock, flags);
	now = modeldisk_now(dev);
	dev->armed_ns = CORE_DISK_NEVER;
	advance(dev, now);
	list_splice_init(&dev->done, &done);
	arm(dev, now);
	run = dev->starved && dev->budget_used < dev->depth;
	if (run)
		dev->starved = false;
	spin_unlock_irqrestore(&dev->lock, flags);

	list_for_each_entry_safe(cmd, next, &done, done) {
		list_del(&cmd->done);
		blk_mq_complete_request(blk_mq_rq_from_pdu(cmd));
	}
	if (run)
		blk_mq_run_hw_queues(dev->disk->queue, true);
	return HRTIMER_NORESTART;
}

static bool covers(struct request *rq, u64 sector)
{
	return req_op(rq) != REQ_OP_FLUSH && blk_rq_pos(rq) <= sector &&
		sector - blk_rq_pos(rq) < blk_rq_sectors(rq);
}

static enum verdict assess(struct modeldisk *dev, struct request *rq)
{
	enum verdict verdict = SERVE;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (dev->gone) {
		verdict = FAIL;
	} else if (dev->error_count && covers(rq, dev->error_sector)) {
		dev->error_count--;
		verdict = FAIL;
	} else if (covers(rq, dev->timeout_sector)) {
		verdict = HOLD;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	return verdict;
}

/* Returns false, a bug of this driver, if the model rejects the command. */
static bool give(struct modeldisk *dev, u64 now, struct request *rq)
{
	bool flush = req_op(rq) == REQ_OP_FLUSH, taken;

	if (flush)
		taken = core_disk_flush(dev->core, now, rq->tag);
	else
		taken = core_disk_submit(dev->core, now, rq->tag, req_op(rq) == REQ_OP_WRITE,
					 blk_rq_pos(rq),
					 blk_rq_sectors(rq));
	if (!taken) {
		dev->counters.refused++;
		return false;
	}
	if (flush)
		dev->counters.flushes++;
	else
		dev->counters.requests++;
	dev->slots[rq->tag].record = modeldisk_log_submit(dev, now, rq);
	return true;
}

static void enter(struct modeldisk *dev, struct request *rq, enum verdict verdict)
{
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&dev->lock, flags);
	now = modeldisk_now(dev);
	advance(dev, now);
	dev->slots[rq->tag] = (struct modeldisk_slot){ .rq = rq, .record = ~0u };
	dev->inside++;
	dev->counters.max_inside = max_t(u64, dev->counters.max_inside, dev->inside);
	if (dev->gone) {
		dev->counters.errors++;
		finish(dev, rq->tag, BLK_STS_OFFLINE);
	} else if (verdict == HOLD) {
		dev->slots[rq->tag].held = true;
	} else if (verdict == FAIL || !give(dev, now, rq)) {
		dev->counters.errors++;
		finish(dev, rq->tag, BLK_STS_IOERR);
	}
	arm(dev, now);
	spin_unlock_irqrestore(&dev->lock, flags);
}

/* Time for which the CPU had work; after idle time exact to microseconds. */
static u64 busy_ns(void)
{
	int cpu = smp_processor_id();
	u64 idle_us = get_cpu_idle_time_us(cpu, NULL) + get_cpu_iowait_time_us(cpu, NULL);

	return ktime_get_ns() - idle_us * NSEC_PER_USEC;
}

/*
 * The CPU works for @ns, less what it has worked between calls, when requests were inserted: in a
 * guest of infinite speed the kernel takes 256 ns for each reading of its clock. With charge_all,
 * that work was the programs'. Virtual time passes, and timers fire; the outer call then works for
 * the inner one, too.
 */
static void burn(struct modeldisk *dev, unsigned int ns)
{
	unsigned long flags;
	s64 left;

	if (!ns)
		return;
	spin_lock_irqsave(&dev->lock, flags);
	dev->owed_ns += ns;
	if (!dev->burning) {
		dev->burning = true;
		left = dev->charge_all ? 0 : busy_ns() - dev->busy_ns;
		dev->owed_ns = max(dev->owed_ns - max(left, 0ll), -MOST_CREDIT_NS);
		while ((left = dev->owed_ns) > 0) {
			spin_unlock_irqrestore(&dev->lock, flags);
			ndelay(left);
			spin_lock_irqsave(&dev->lock, flags);
			dev->owed_ns -= left;
		}
		dev->busy_ns = busy_ns();
		dev->burning = false;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}

static int get_budget(struct request_queue *q)
{
	struct modeldisk *dev = q->queuedata;
	unsigned long flags;
	bool room;

	spin_lock_irqsave(&dev->lock, flags);
	room = dev->budget_used < dev->depth;
	if (room)
		dev->budget_used++;
	else
		dev->starved = true;
	spin_unlock_irqrestore(&dev->lock, flags);
	return room ? 0 : -1;
}

static void put_budget(struct request_queue *q, int budget)
{
	struct modeldisk *dev = q->queuedata;
	unsigned long flags;
	bool run;

	spin_lock_irqsave(&dev->lock, flags);
	dev->budget_used--;
	run = dev->starved;
	dev->starved = false;
	spin_unlock_irqrestore(&dev->lock, flags);
	if (run)
		blk_mq_run_hw_queues(q, true);
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *rq = data->rq;
	struct modeldisk *dev = hctx->queue->queuedata;
	enum verdict verdict;

	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE && req_op(rq) != REQ_OP_FLUSH) {
		put_budget(hctx->queue, 0);
		return BLK_STS_NOTSUPP;
	}
	verdict = assess(dev, rq);
	if (verdict == SERVE && dev->memory_backed && req_op(rq) != REQ_OP_FLUSH &&
	    modeldisk_store_transfer(dev, rq)) {
		/* No memory; the block layer retries. */
		put_budget(hctx->queue, 0);
		return BLK_STS_RESOURCE;
	}
	blk_mq_start_request(rq);
	burn(dev, dev->submit_ns);
	enter(dev, rq, verdict);
	return BLK_STS_OK;
}

static void complete_rq(struct request *rq)
{
	struct modeldisk_cmd *cmd = blk_mq_rq_to_pdu(rq);
	struct modeldisk *dev = rq->q->queuedata;

	burn(dev, dev->complete_ns);
	blk_mq_end_request(rq, cmd->status);
}

/* Only deliberately held requests time out: the model serves all others. */
static enum blk_eh_timer_return timed_out(struct request *rq)
{
	struct modeldisk *dev = rq->q->queuedata;
	enum blk_eh_timer_return answer = BLK_EH_RESET_TIMER;
	struct modeldisk_slot *slot = &dev->slots[rq->tag];
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (slot->rq == rq && slot->held) {
		dev->counters.timeouts++;
		finish(dev, rq->tag, BLK_STS_TIMEOUT);
		arm(dev, modeldisk_now(dev));
		answer = BLK_EH_DONE;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	return answer;
}

static const struct blk_mq_ops queue_operations = {
	.queue_rq = queue_rq,
	.get_budget = get_budget,
	.put_budget = put_budget,
	.complete = complete_rq,
	.timeout = timed_out,
};

static const struct block_device_operations disk_operations = {
	.owner = THIS_MODULE,
};

void modeldisk_be_gone(struct modeldisk *dev)
{
	unsigned long flags;
	u32 tag;

	spin_lock_irqsave(&dev->lock, flags);
	dev->gone = true;
	for (tag = 0; tag < dev->set.queue_depth; tag++) {
		if (dev->slots[tag].rq) {
			dev->counters.errors++;
			finish(dev, tag, BLK_STS_OFFLINE);
		}
	}
	arm(dev, modeldisk_now(dev));
	spin_unlock_irqrestore(&dev->lock, flags);
}

/* A disk to which nothing has happened; NULL without memory. */
static struct core_disk *make_core(const struct modeldisk *dev)
{
	void *memory = vzalloc(dev->core_size);

	return memory ? core_disk_init(memory, dev->tables, dev->tables_len) : NULL;
}

static void free_core(struct core_disk *core)
{
	if (core)
		core_disk_exit(core);
	vfree(core);
}

int modeldisk_restart(struct modeldisk *dev, u64 epoch_ns)
{
	struct core_disk *other = NULL;
	unsigned long flags;
	int error = -EBUSY;
	bool is_new;

	spin_lock_irqsave(&dev->lock, flags);
	is_new = core_disk_is_new(dev->core);
	spin_unlock_irqrestore(&dev->lock, flags);
	/* Making it may sleep, and takes long for a worn flash device. */
	if (!is_new) {
		other = make_core(dev);
		if (!other)
			return -ENOMEM;
	}

	spin_lock_irqsave(&dev->lock, flags);
	if (!dev->inside && list_empty(&dev->done) && (other || core_disk_is_new(dev->core))) {
		if (other)
			swap(dev->core, other);
		memset(&dev->counters, 0, sizeof(dev->counters));
		dev->log_used = 0;
		dev->log_lost = 0;
		dev->epoch_ns = epoch_ns;
		dev->armed_ns = CORE_DISK_NEVER;
		error = 0;
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	free_core(other);
	return error;
}

static int make_state(struct modeldisk *dev)
{
	dev->core_size = core_disk_size(dev->tables, dev->tables_len);
	if (!dev->core_size)
		return -EINVAL;
	dev->core = make_core(dev);
	dev->slots = kvcalloc(dev->set.queue_depth, sizeof(*dev->slots), GFP_KERNEL);
	if (!dev->core || !dev->slots || modeldisk_log_make(dev))
		return -ENOMEM;
	dev->budget_used = 0;
	dev->inside = 0;
	dev->starved = false;
	dev->gone = false;
	dev->error_count = 0;
	dev->timeout_sector = MODELDISK_NO_SECTOR;
	return modeldisk_restart(dev, 0);
}

static void free_state(struct modeldisk *dev)
{
	modeldisk_log_free(dev);
	kvfree(dev->slots);
	free_core(dev->core);
	dev->slots = NULL;
	dev->core = NULL;
}

static int make_disk(struct modeldisk *dev)
{
	struct gendisk *disk = compat_make_disk(&dev->set, dev, MODELDISK_MAX_SECTORS,
						core_disk_has_arm(dev->core),
						core_disk_has_volatile_cache(dev->core));
	int error;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	dev->disk = disk;
	blk_set_queue_depth(disk->queue, dev->depth);
	/* No partition scan: only the trial accesses its disk. */
	disk->flags |= GENHD_FL_NO_PART;
	disk->fops = &disk_operations;
	disk->private_data = dev;
	strscpy(disk->disk_name, config_item_name(&dev->item), DISK_NAME_LEN);
	set_capacity(disk, core_disk_sectors(dev->core));
	error = add_disk(disk);
	if (error)
		put_disk(disk);
	return error;
}

int modeldisk_queue_make(struct modeldisk *dev)
{
	int error;

	memset(&dev->set, 0, sizeof(dev->set));
	dev->set.ops = &queue_operations;
	dev->set.nr_hw_queues = 1;
	dev->set.queue_depth = dev->nr_requests;
	dev->set.numa_node = NUMA_NO_NODE;
	dev->set.cmd_size = sizeof(struct modeldisk_cmd);
	dev->set.flags = COMPAT_MQ_FLAGS;
	dev->set.timeout = max_t(unsigned int, msecs_to_jiffies(dev->timeout_ms), 1);
	dev->depth = dev->queue_depth;
	INIT_LIST_HEAD(&dev->done);
	compat_hrtimer_setup(&dev->timer, timer_fired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	error = make_state(dev);
	if (!error)
		error = blk_mq_alloc_tag_set(&dev->set);
	if (error) {
		free_state(dev);
		return error;
	}
	error = make_disk(dev);
	if (error) {
		blk_mq_free_tag_set(&dev->set);
		free_state(dev);
		return error;
	}
	modeldisk_debugfs_add(dev);
	return 0;
}

/* Held requests would delay removal until they time out. */
static void release_held(struct modeldisk *dev)
{
	unsigned long flags;
	u32 tag;

	spin_lock_irqsave(&dev->lock, flags);
	dev->timeout_sector = MODELDISK_NO_SECTOR;
	for (tag = 0; tag < dev->set.queue_depth; tag++)
		if (dev->slots[tag].held)
			finish(dev, tag, BLK_STS_IOERR);
	arm(dev, modeldisk_now(dev));
	spin_unlock_irqrestore(&dev->lock, flags);
}

void modeldisk_queue_remove(struct modeldisk *dev)
{
	debugfs_remove_recursive(dev->dir);
	release_held(dev);
	/* Waits for the requests in the disk, which the timer completes. */
	del_gendisk(dev->disk);
	hrtimer_cancel(&dev->timer);
	put_disk(dev->disk);
	blk_mq_free_tag_set(&dev->set);
	modeldisk_store_free(dev);
	free_state(dev);
}
