// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs files of a modelled disk: `stats`, lines of name and value, and `log`, every command with
 * the model's times for comparison on the host. See modeldisk.h for its layout.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "modeldisk-device.h"

static struct dentry *root;

int modeldisk_log_make(struct modeldisk *dev)
{
	dev->log_used = 0;
	dev->log_lost = 0;
	dev->log = NULL;
	if (dev->log_entries)
		dev->log = vzalloc(array_size(dev->log_entries, sizeof(*dev->log)));
	return dev->log_entries && !dev->log ? -ENOMEM : 0;
}

void modeldisk_log_free(struct modeldisk *dev)
{
	vfree(dev->log);
	dev->log = NULL;
}

u32 modeldisk_log_submit(struct modeldisk *dev, u64 now, struct request *rq)
{
	struct modeldisk_record *record;

	if (!dev->log)
		return ~0u;
	if (dev->log_used == dev->log_entries) {
		dev->log_lost++;
		return ~0u;
	}
	record = &dev->log[dev->log_used];
	memset(record, 0, sizeof(*record));
	record->submit_ns = now;
	record->tag = rq->tag;
	record->op = MODELDISK_FLUSH;
	if (req_op(rq) != REQ_OP_FLUSH) {
		record->op = req_op(rq) == REQ_OP_WRITE ? MODELDISK_WRITE : MODELDISK_READ;
		record->sector = blk_rq_pos(rq);
		record->nr_sectors = blk_rq_sectors(rq);
	}
	return dev->log_used++;
}

/* A snapshot of the log at open. */
struct snapshot {
	size_t len;
	u8 bytes[];
};

static int log_open(struct inode *inode, struct file *file)
{
	struct modeldisk *dev = inode->i_private;
	size_t records = READ_ONCE(dev->log_used) * sizeof(struct modeldisk_record);
	struct modeldisk_log_head head = {
		.magic = MODELDISK_LOG_MAGIC,
		.version = MODELDISK_LOG_VERSION,
		.head_bytes = sizeof(head),
		.record_bytes = sizeof(struct modeldisk_record),
	};
	struct snapshot *snapshot = vmalloc(sizeof(*snapshot) + sizeof(head) + records);
	unsigned long flags;

	if (!snapshot)
		return -ENOMEM;
	spin_lock_irqsave(&dev->lock, flags);
	/* The log may have been reset since. */
	records = min(records, dev->log_used * sizeof(struct modeldisk_record));
	head.records = records / sizeof(struct modeldisk_record);
	head.lost = dev->log_lost;
	if (records)
		memcpy(snapshot->bytes + sizeof(head), dev->log, records);
	spin_unlock_irqrestore(&dev->lock, flags);
	memcpy(snapshot->bytes, &head, sizeof(head));
	snapshot->len = sizeof(head) + records;
	file->private_data = snapshot;
	return 0;
}

static ssize_t log_read(struct file *file, char __user *to, size_t len, loff_t *at)
{
	struct snapshot *snapshot = file->private_data;

	return simple_read_from_buffer(to, len, at, snapshot->bytes, snapshot->len);
}

static int log_release(struct inode *inode, struct file *file)
{
	vfree(file->private_data);
	return 0;
}

static const struct file_operations log_operations = {
	.owner = THIS_MODULE,
	.open = log_open,
	.read = log_read,
	.llseek = default_llseek,
	.release = log_release,
};

static int stats_show(struct seq_file *file, void *unused)
{
	struct modeldisk *dev = file->private;
	struct modeldisk_counters counters;
	struct core_disk_stats stats;
	unsigned long flags;
	u64 inside;

	spin_lock_irqsave(&dev->lock, flags);
	core_disk_stats(dev->core, &stats);
	counters = dev->counters;
	inside = dev->inside;
	spin_unlock_irqrestore(&dev->lock, flags);
#define LINE(from, name) seq_printf(file, #name " %llu\n", (from).name)
	LINE(stats, transfers);
	LINE(stats, bytes);
	LINE(stats, busy_ns);
	LINE(stats, seeks);
	LINE(stats, seek_cylinders);
	LINE(stats, seek_ns);
	LINE(stats, rotation_ns);
	LINE(stats, transfer_ns);
	LINE(stats, cache_hits);
	LINE(stats, cached_writes);
	LINE(stats, moved_pages);
	LINE(stats, erases);
	LINE(stats, programs);
	LINE(stats, suspends);
	LINE(counters, requests);
	LINE(counters, flushes);
	LINE(counters, errors);
	LINE(counters, timeouts);
	LINE(counters, refused);
	LINE(counters, max_inside);
	LINE(counters, late_ns);
	LINE(counters, max_late_ns);
#undef LINE
	seq_printf(file, "inside %llu\n", inside);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void modeldisk_debugfs_add(struct modeldisk *dev)
{
	dev->dir = debugfs_create_dir(dev->disk->disk_name, root);
	debugfs_create_file("log", 0400, dev->dir, dev, &log_operations);
	debugfs_create_file("stats", 0400, dev->dir, dev, &stats_fops);
}

void modeldisk_debugfs_init(void)
{
	root = debugfs_create_dir("modeldisk", NULL);
}

void modeldisk_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}
