// SPDX-License-Identifier: GPL-2.0
/*
 * What an elevator shows: its tunables, named, bounded and in the units of the core's table, in the
 * iosched directory of sysfs; its own max_inflight; and, to be read only, the counters of
 * anticipation (there and in debugfs) and the state of the queue (debugfs). Part of iosched-glue.c.
 */

/*
 * An entry of sysfs is a pair of functions that do not learn its name, so there is a pair for each
 * number.
 */
#define MAX_TUNABLES 48

static u64 read_tunable(struct elevator_queue *eq, u32 number)
{
	struct iosched *io = eq->elevator_data;
	unsigned long irq;
	u64 value;

	spin_lock_irqsave(&io->lock, irq);
	value = io->ops->get(io->core, number);
	spin_unlock_irqrestore(&io->lock, irq);
	return value;
}

/* A number within bounds, or EINVAL. */
static int parse(const char *page, u64 min, u64 max, u64 *out)
{
	return kstrtou64(page, 10, out) || *out < min || *out > max ? -EINVAL : 0;
}

static ssize_t write_tunable(struct elevator_queue *eq, u32 number, const char *page, size_t count)
{
	struct iosched *io = eq->elevator_data;
	const struct core_tunable *row = &io->ops->tunables[number];
	unsigned long irq;
	u64 value;

	if (parse(page, row->min, row->max, &value))
		return -EINVAL;
	spin_lock_irqsave(&io->lock, irq);
	io->ops->set(io->core, number, value);
	stir(io);
	spin_unlock_irqrestore(&io->lock, irq);
	blk_mq_run_hw_queues(io->q, true);
	return count;
}

#define FOR_EACH_NUMBER(X)									\
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)	\
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)	\
	X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43)	\
	X(44) X(45) X(46) X(47)

#define PAIR(n)											\
	static ssize_t show_##n(struct elevator_queue *eq, char *page)				\
	{											\
		return sysfs_emit(page, "%llu\n", read_tunable(eq, n));				\
	}											\
	static ssize_t store_##n(struct elevator_queue *eq, const char *page, size_t count)	\
	{											\
		return write_tunable(eq, n, page, count);					\
	}
FOR_EACH_NUMBER(PAIR)

#define ENTRY(n) { .attr = { .mode = 0644 }, .show = show_##n, .store = store_##n },
static const compat_entry_t numbered[MAX_TUNABLES] = { FOR_EACH_NUMBER(ENTRY) };

static ssize_t show_max_inflight(struct elevator_queue *eq, char *page)
{
	struct iosched *io = eq->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(io->max_inflight));
}

static ssize_t store_max_inflight(struct elevator_queue *eq, const char *page, size_t count)
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
	unsigned long irq;

	spin_lock_irqsave(&io->lock, irq);
	io->ops->anticipation(io->core, out);
	out->started += io->before.started;
	out->successes += io->before.successes;
	out->failures += io->before.failures;
	out->success_wait_ns += io->before.success_wait_ns;
	out->failure_wait_ns += io->before.failure_wait_ns;
	spin_unlock_irqrestore(&io->lock, irq);
}

#define STATS_FORMAT										\
	"started %llu successes %llu failures %llu success_wait_ns %llu failure_wait_ns %llu\n"
#define STATS(of)										\
	(of).started, (of).successes, (of).failures, (of).success_wait_ns, (of).failure_wait_ns

static ssize_t show_antic_stats(struct elevator_queue *eq, char *page)
{
	struct core_anticipation counts = {};

	read_anticipation(eq->elevator_data, &counts);
	return sysfs_emit(page, STATS_FORMAT, STATS(counts));
}

static const compat_entry_t own_entries[] = {
	{
		.attr = { .name = "max_inflight", .mode = 0644 },
		.show = show_max_inflight,
		.store = store_max_inflight,
	},
	{ .attr = { .name = "antic_stats", .mode = 0444 }, .show = show_antic_stats },
};

/* The core's, ours, and an empty one. */
static compat_entry_t iosched_attrs[MAX_TUNABLES + ARRAY_SIZE(own_entries) + 1];

static int iosched_fill_attrs(const struct core_ops *ops)
{
	u32 at;

	if (WARN_ON(ops->nr_tunables > MAX_TUNABLES))
		return -EINVAL;
	for (at = 0; at < ops->nr_tunables; at++) {
		memcpy(&iosched_attrs[at], &numbered[at], sizeof(numbered[at]));
		iosched_attrs[at].attr.name = ops->tunables[at].name;
	}
	memcpy(&iosched_attrs[at], own_entries, sizeof(own_entries));
	return 0;
}

#ifdef CONFIG_BLK_DEBUG_FS
static int antic_stats_show(void *data, struct seq_file *m)
{
	struct core_anticipation counts = {};

	read_anticipation(of_queue(data), &counts);
	seq_printf(m, STATS_FORMAT, STATS(counts));
	return 0;
}

static int state_show(void *data, struct seq_file *m)
{
	struct iosched *io = of_queue(data);
	unsigned long irq;
	u32 held, in_flight, core_held;
	bool idle, aside;
	u64 armed;

	spin_lock_irqsave(&io->lock, irq);
	held = io->held;
	core_held = io->ops->held(io->core);
	in_flight = io->in_flight;
	idle = io->idle;
	aside = !list_empty(&io->aside);
	armed = io->armed;
	spin_unlock_irqrestore(&io->lock, irq);
	seq_printf(m, "held %u core_held %u in_flight %u aside %d idle %d timer %lld\n", held,
		   core_held, in_flight, aside, idle, armed == CORE_NEVER ? -1ll : (s64)armed);
	return 0;
}

static const struct blk_mq_debugfs_attr iosched_debugfs[] = {
	{ .name = "antic_stats", .mode = 0400, .show = antic_stats_show },
	{ .name = "state", .mode = 0400, .show = state_show },
	{},
};
#endif
