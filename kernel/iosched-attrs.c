// SPDX-License-Identifier: GPL-2.0
/* sysfs and debugfs attributes. */
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "iosched.h"

/* A show or store function does not get the attribute, so each tunable needs its own pair. */
#define MAX_TUNABLES 48

static u64 read_tunable(struct elevator_queue *eq, u32 index)
{
	struct iosched *io = eq->elevator_data;
	unsigned long flags;
	u64 value;

	spin_lock_irqsave(&io->lock, flags);
	value = io->ops->get(io->core, index);
	spin_unlock_irqrestore(&io->lock, flags);
	return value;
}

static int parse(const char *page, u64 min, u64 max, u64 *out)
{
	return kstrtou64(page, 10, out) || *out < min || *out > max ? -EINVAL : 0;
}

static ssize_t write_tunable(struct elevator_queue *eq, u32 index, const char *page, size_t count)
{
	struct iosched *io = eq->elevator_data;
	const struct core_tunable *row = &io->ops->tunables[index];
	unsigned long flags;
	u64 value;

	if (parse(page, row->min, row->max, &value))
		return -EINVAL;
	spin_lock_irqsave(&io->lock, flags);
	io->ops->set(io->core, index, value);
	iosched_restart(io);
	spin_unlock_irqrestore(&io->lock, flags);
	blk_mq_run_hw_queues(io->q, true);
	return count;
}

#define FOR_EACH_INDEX(X)									\
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)	\
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)	\
	X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43)	\
	X(44) X(45) X(46) X(47)

#define DEFINE_SHOW_STORE(n)									\
	static ssize_t show_##n(struct elevator_queue *eq, char *page)				\
	{											\
		return sysfs_emit(page, "%llu\n", read_tunable(eq, n));				\
	}											\
	static ssize_t store_##n(struct elevator_queue *eq, const char *page, size_t count)	\
	{											\
		return write_tunable(eq, n, page, count);					\
	}
FOR_EACH_INDEX(DEFINE_SHOW_STORE)

#define ENTRY(n) { .attr = { .mode = 0644 }, .show = show_##n, .store = store_##n },
static const compat_entry_t tunable_attrs[MAX_TUNABLES] = { FOR_EACH_INDEX(ENTRY) };

static ssize_t max_inflight_show(struct elevator_queue *eq, char *page)
{
	struct iosched *io = eq->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(io->max_inflight));
}

static ssize_t max_inflight_store(struct elevator_queue *eq, const char *page, size_t count)
{
	struct iosched *io = eq->elevator_data;
	u64 value;

	if (parse(page, 0, MAX_SCHED_RQ, &value))
		return -EINVAL;
	WRITE_ONCE(io->max_inflight, value);
	blk_mq_run_hw_queues(io->q, true);
	return count;
}

static void read_anticipation(struct iosched *io, struct core_anticipation *out)
{
	unsigned long flags;

	spin_lock_irqsave(&io->lock, flags);
	io->ops->anticipation(io->core, out);
	out->started += io->past.started;
	out->successes += io->past.successes;
	out->failures += io->past.failures;
	out->success_wait_ns += io->past.success_wait_ns;
	out->failure_wait_ns += io->past.failure_wait_ns;
	spin_unlock_irqrestore(&io->lock, flags);
}

#define STATS_FORMAT										\
	"started %llu successes %llu failures %llu success_wait_ns %llu failure_wait_ns %llu\n"
#define STATS(of)										\
	(of).started, (of).successes, (of).failures, (of).success_wait_ns, (of).failure_wait_ns

static ssize_t antic_stats_show(struct elevator_queue *eq, char *page)
{
	struct core_anticipation counts = {};

	read_anticipation(eq->elevator_data, &counts);
	return sysfs_emit(page, STATS_FORMAT, STATS(counts));
}

static const compat_entry_t common_attrs[] = {
	{
		.attr = { .name = "max_inflight", .mode = 0644 },
		.show = max_inflight_show,
		.store = max_inflight_store,
	},
	{ .attr = { .name = "antic_stats", .mode = 0444 }, .show = antic_stats_show },
};

compat_entry_t iosched_attrs[MAX_TUNABLES + ARRAY_SIZE(common_attrs) + 1];

int iosched_init_attrs(const struct core_ops *ops, bool shows_internal)
{
	u32 nr = ops->nr_tunables - (shows_internal ? 0 : ops->nr_internal), i;

	if (WARN_ON(nr > MAX_TUNABLES))
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		memcpy(&iosched_attrs[i], &tunable_attrs[i], sizeof(tunable_attrs[i]));
		iosched_attrs[i].attr.name = ops->tunables[i].name;
	}
	memcpy(&iosched_attrs[i], common_attrs, sizeof(common_attrs));
	return 0;
}

#ifdef CONFIG_BLK_DEBUG_FS
static int debugfs_antic_stats_show(void *data, struct seq_file *m)
{
	struct core_anticipation counts = {};

	read_anticipation(iosched_of(data), &counts);
	seq_printf(m, STATS_FORMAT, STATS(counts));
	return 0;
}

static int debugfs_state_show(void *data, struct seq_file *m)
{
	struct iosched *io = iosched_of(data);
	u32 held, core_held, in_flight;
	unsigned long flags;
	bool idle, bypass;
	u64 timer_ns;

	spin_lock_irqsave(&io->lock, flags);
	held = io->held;
	core_held = io->ops->held(io->core);
	in_flight = io->in_flight;
	idle = io->idle;
	bypass = !list_empty(&io->bypass_list);
	timer_ns = io->timer_ns;
	spin_unlock_irqrestore(&io->lock, flags);
	seq_printf(m, "held %u core_held %u in_flight %u bypass %d idle %d timer %lld\n", held,
		   core_held, in_flight, bypass, idle,
		   timer_ns == CORE_NEVER ? -1ll : (s64)timer_ns);
	return 0;
}

const struct blk_mq_debugfs_attr iosched_debugfs_attrs[] = {
	{ .name = "antic_stats", .mode = 0400, .show = debugfs_antic_stats_show },
	{ .name = "state", .mode = 0400, .show = debugfs_state_show },
	{},
};
#endif
