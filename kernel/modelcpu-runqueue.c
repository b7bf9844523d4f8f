// SPDX-License-Identifier: GPL-2.0
/*
 * What the CPU scheduler decides, from its tracepoints: how long tasks of the measured program wait
 * in the run queue, how long they run until they are preempted, and which part of the CPU their
 * weights would give them.
 *
 * Probes read the scheduler's clock, which costs no virtual time: a trial with them is the same
 * trial. They run with interrupts disabled, and CPUs take turns where they wait (kernel/um), hence
 * without locks. With several CPUs, weights alone do not give a share: none is shown.
 *
 * debugfs: modelcpu/stats, lines of name and value, and modelcpu/log, every event if the module was
 * loaded with log=RECORDS.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "modelcpu.h"

static unsigned int log;
module_param(log, uint, 0444);
MODULE_PARM_DESC(log, "events of the scheduler that are logged");

/* A histogram's bucket has 1/1024 of its value; smaller values are exact. */
#define SUB_BITS 10
#define BUCKETS ((64 - SUB_BITS + 1) << SUB_BITS)

struct times {
	u64 count;
	u64 sum_ns;
	u64 max_ns;
	u32 buckets[BUCKETS];
};

/* A runnable task. */
struct entry {
	struct hlist_node node;
	struct task_struct *task;
	u64 weight;
	bool is_measured;
	/* Since when it waits, if it does. */
	u64 queued_ns;
	/* measure.service when it became runnable, and its time on the CPU since. */
	u64 since;
	u64 got_ns;
};

#define MAX_RUNNABLE 4096
/* Fractions of a nanosecond in which the share by weight is summed. */
#define SHARE_SHIFT 8
/* And those of the time that a unit of weight gets. */
#define SERVICE_SHIFT 20

static struct times waits, slices;
static struct entry pool[MAX_RUNNABLE];
static HLIST_HEAD(unused_entries);
static DEFINE_HASHTABLE(runnable, 10);

static struct {
	struct pid *group;
	bool is_on;
	/* Whether the share by weight is known: all measured tasks are fair and every one is tracked. */
	bool has_share;
	u64 last_ns;
	u64 switches;
	u64 migrations;
	/* Of all runnable tasks, and of measured ones. */
	u64 weight;
	u64 measured_weight;
	bool runs_fair;
	bool runs_measured;
	/* Time by weight, in 1 / 2^SHARE_SHIFT ns, and time on the CPU. */
	u64 ideal;
	u64 got_ns;
	/* Longest time behind the share and ahead of it. */
	s64 behind_ns;
	s64 ahead_ns;
	/* The same of a single task: before it runs, and after. */
	s64 task_behind_ns;
	s64 task_ahead_ns;
	/* Time of a unit of weight, in 1 / 2^SERVICE_SHIFT ns, and the task that gets it. */
	u64 service;
	struct entry *running;
} measure;

static struct modelcpu_record *records;
static u32 nr_records;
static u32 lost_records;

static unsigned int bucket_of(u64 ns)
{
	unsigned int shift = ns >> SUB_BITS ? fls64(ns) - 1 - SUB_BITS : 0;

	return (shift << SUB_BITS) + (unsigned int)(ns >> shift);
}

/* The middle of a bucket. */
static u64 value_of(unsigned int bucket)
{
	unsigned int shift = bucket >> SUB_BITS ? (bucket >> SUB_BITS) - 1 : 0;
	u64 least = (u64)(bucket - (shift << SUB_BITS)) << shift;

	return shift ? least + (1ull << (shift - 1)) : least;
}

static void count_time(struct times *times, u64 ns)
{
	times->count++;
	times->sum_ns += ns;
	times->max_ns = max(times->max_ns, ns);
	times->buckets[bucket_of(ns)]++;
}

/* The boot CPU's idle task has no PF_IDLE in Linux 6.1. */
static bool is_idle(struct task_struct *p)
{
	return p->pid == 0;
}

static bool is_fair(struct task_struct *p)
{
	return p->policy == SCHED_NORMAL || p->policy == SCHED_BATCH || p->policy == SCHED_IDLE;
}

static bool is_measured(struct task_struct *p)
{
	/* An exiting thread has lost its signal structure. */
	return measure.group && p->signal && task_pgrp(p) == measure.group;
}

/* Counts the time since the last event. */
static void advance(u64 now)
{
	u64 ns = now - measure.last_ns;
	s64 lag;

	measure.last_ns = now;
	if (!measure.is_on || !measure.runs_fair || !measure.weight || num_online_cpus() > 1)
		return;
	measure.ideal += div64_u64((ns << SHARE_SHIFT) * measure.measured_weight, measure.weight);
	measure.service += div64_u64(ns << SERVICE_SHIFT, measure.weight);
	if (measure.running)
		measure.running->got_ns += ns;
	if (measure.runs_measured)
		measure.got_ns += ns;
	lag = (s64)(measure.ideal >> SHARE_SHIFT) - (s64)measure.got_ns;
	measure.behind_ns = max(measure.behind_ns, lag);
	measure.ahead_ns = max(measure.ahead_ns, -lag);
}

static struct entry *find(struct task_struct *p)
{
	struct entry *entry;

	hash_for_each_possible(runnable, entry, node, (unsigned long)p)
		if (entry->task == p)
			return entry;
	return NULL;
}

/* Time by weight, less the time on the CPU, since the task became runnable. */
static s64 lag_of(const struct entry *entry)
{
	u64 ideal = entry->weight * (measure.service - entry->since);

	return (s64)(ideal >> SERVICE_SHIFT) - (s64)entry->got_ns;
}

static void begin_lag(struct entry *entry)
{
	entry->since = measure.service;
	entry->got_ns = 0;
}

/* Takes a task out of the sums; its entry stays. */
static void subtract(struct entry *entry)
{
	measure.weight -= entry->weight;
	if (entry->is_measured)
		measure.measured_weight -= entry->weight;
}

static void remove(struct task_struct *p)
{
	struct entry *entry = find(p);

	if (!entry)
		return;
	subtract(entry);
	hash_del(&entry->node);
	hlist_add_head(&entry->node, &unused_entries);
}

/* Adds a runnable task, or reads its weight again. */
static void update(struct task_struct *p)
{
	struct entry *entry = find(p);
	u64 weight = is_fair(p) ? p->se.load.weight >> SCHED_FIXEDPOINT_SHIFT : 0;

	if (is_idle(p))
		return;
	if (entry) {
		subtract(entry);
	} else if (hlist_empty(&unused_entries)) {
		measure.has_share = false;
		return;
	} else {
		entry = hlist_entry(unused_entries.first, struct entry, node);
		hash_del(&entry->node);
		entry->task = p;
		entry->weight = 0;
		entry->queued_ns = sched_clock();
		hash_add(runnable, &entry->node, (unsigned long)p);
	}
	if (entry->weight != weight)
		begin_lag(entry);
	entry->is_measured = is_measured(p);
	entry->weight = weight;
	measure.weight += entry->weight;
	if (!entry->is_measured)
		return;
	measure.measured_weight += entry->weight;
	if (!entry->weight)
		measure.has_share = false;
}

/* A task that leaves the CPU and stays runnable. */
static void requeue(struct task_struct *p, u64 now)
{
	struct entry *entry;

	update(p);
	entry = find(p);
	if (entry)
		entry->queued_ns = now;
}

/* Not sched_info.last_queued, which a migration sets. */
static u64 queued_since(struct task_struct *p)
{
	struct entry *entry = find(p);

	return entry ? entry->queued_ns : p->sched_info.last_queued;
}

static struct modelcpu_record *new_record(u64 now, enum modelcpu_event event, struct task_struct *p)
{
	struct modelcpu_record *record;

	if (!records)
		return NULL;
	if (nr_records == log) {
		lost_records++;
		return NULL;
	}
	record = &records[nr_records++];
	record->time_ns = now;
	record->event = event;
	record->cpu = raw_smp_processor_id();
	record->pid = p->pid;
	record->tgid = p->tgid;
	record->prio = p->prio;
	memcpy(record->comm, p->comm, sizeof(record->comm));
	return record;
}

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	u64 now = sched_clock();
	unsigned int state = preempt ? 0 : READ_ONCE(prev->__state);
	unsigned int shown = __task_state_index(state, prev->exit_state);
	struct modelcpu_record *record = new_record(now, MODELCPU_SWITCH, next);

	if (record) {
		record->prev_state = shown ? 1u << (shown - 1) : 0;
		record->prev_pid = prev->pid;
		record->prev_prio = prev->prio;
	}
	advance(now);
	if (measure.is_on && measure.running && measure.running->is_measured)
		measure.task_ahead_ns = max(measure.task_ahead_ns, -lag_of(measure.running));
	if (state)
		remove(prev);
	else
		requeue(prev, now);
	update(next);
	measure.running = is_idle(next) ? NULL : find(next);
	if (measure.is_on && measure.running && measure.running->is_measured)
		measure.task_behind_ns = max(measure.task_behind_ns, lag_of(measure.running));
	measure.runs_fair = is_fair(next) && !is_idle(next);
	measure.runs_measured = is_measured(next);
	if (!measure.is_on)
		return;
	if (!state && is_measured(prev))
		count_time(&slices, now - prev->sched_info.last_arrival);
	if (measure.runs_measured) {
		measure.switches++;
		count_time(&waits, now - queued_since(next));
	}
}

static void on_wakeup(void *data, struct task_struct *p)
{
	u64 now = sched_clock();

	new_record(now, MODELCPU_WAKEUP, p);
	advance(now);
	update(p);
}

static void on_wakeup_new(void *data, struct task_struct *p)
{
	u64 now = sched_clock();

	new_record(now, MODELCPU_WAKEUP_NEW, p);
	advance(now);
	update(p);
}

static void on_migration(void *data, struct task_struct *p, int cpu)
{
	if (measure.is_on && is_measured(p))
		measure.migrations++;
}

void modelcpu_runqueue_begin(void)
{
	unsigned long flags;

	local_irq_save(flags);
	advance(sched_clock());
	put_pid(measure.group);
	measure.group = get_pid(task_pgrp(current));
	memset(&waits, 0, sizeof(waits));
	memset(&slices, 0, sizeof(slices));
	measure.switches = 0;
	measure.migrations = 0;
	measure.ideal = 0;
	measure.got_ns = 0;
	measure.behind_ns = 0;
	measure.ahead_ns = 0;
	measure.task_behind_ns = 0;
	measure.task_ahead_ns = 0;
	measure.has_share = num_online_cpus() == 1;
	update(current);
	measure.running = find(current);
	measure.runs_measured = true;
	measure.runs_fair = is_fair(current);
	measure.is_on = true;
	local_irq_restore(flags);
}

void modelcpu_runqueue_end(void)
{
	unsigned long flags;

	local_irq_save(flags);
	advance(sched_clock());
	measure.is_on = false;
	local_irq_restore(flags);
}

/* The nearest rank, as histograms of latencies have it. */
static u64 quantile(const struct times *times, unsigned int per_mille)
{
	u64 rank = max(1ull, DIV_ROUND_UP_ULL(times->count * per_mille, 1000));
	u64 seen = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		seen += times->buckets[i];
		if (seen >= rank)
			return min(value_of(i), times->max_ns);
	}
	return times->max_ns;
}

static void show_times(struct seq_file *file, const char *name, const struct times *times)
{
	seq_printf(file, "%ss %llu\n", name, times->count);
	if (!times->count)
		return;
	seq_printf(file, "%s_p50_ns %llu\n", name, quantile(times, 500));
	seq_printf(file, "%s_p99_ns %llu\n", name, quantile(times, 990));
	seq_printf(file, "%s_max_ns %llu\n", name, times->max_ns);
	seq_printf(file, "%s_sum_ns %llu\n", name, times->sum_ns);
}

static int stats_show(struct seq_file *file, void *unused)
{
	show_times(file, "queue_wait", &waits);
	show_times(file, "slice", &slices);
	seq_printf(file, "switches %llu\n", measure.switches);
	if (num_online_cpus() > 1)
		seq_printf(file, "migrations %llu\n", measure.migrations);
	if (!measure.has_share)
		return 0;
	seq_printf(file, "share_ns %llu\n", measure.got_ns);
	seq_printf(file, "share_by_weight_ns %llu\n", measure.ideal >> SHARE_SHIFT);
	seq_printf(file, "share_behind_max_ns %lld\n", measure.behind_ns);
	seq_printf(file, "share_ahead_max_ns %lld\n", measure.ahead_ns);
	seq_printf(file, "share_task_behind_max_ns %lld\n", measure.task_behind_ns);
	seq_printf(file, "share_task_ahead_max_ns %lld\n", measure.task_ahead_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static ssize_t log_read(struct file *file, char __user *to, size_t bytes, loff_t *pos)
{
	if (lost_records)
		return -EOVERFLOW;
	return simple_read_from_buffer(to, bytes, pos, records, nr_records * sizeof(*records));
}

static const struct file_operations log_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = log_read,
	.llseek = default_llseek,
};

/* The scheduler's tracepoints are not exported by name. */
static const struct {
	const char *name;
	void *probe;
} probes[] = {
	{ "sched_switch", on_switch },
	{ "sched_wakeup", on_wakeup },
	{ "sched_wakeup_new", on_wakeup_new },
	{ "sched_migrate_task", on_migration },
};

static void register_probe(struct tracepoint *tp, void *found)
{
	unsigned int *nr_found = found;
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tp->name, probes[i].name) &&
		    !tracepoint_probe_register(tp, probes[i].probe, NULL))
			(*nr_found)++;
}

int modelcpu_runqueue_start(void)
{
	unsigned int nr_found = 0;
	struct dentry *dir;
	int i;

	/* The kernel's own declarations of what its probes are called with. */
	check_trace_callback_type_sched_switch(on_switch);
	check_trace_callback_type_sched_wakeup(on_wakeup);
	check_trace_callback_type_sched_wakeup_new(on_wakeup_new);
	check_trace_callback_type_sched_migrate_task(on_migration);
	for (i = 0; i < MAX_RUNNABLE; i++)
		hlist_add_head(&pool[i].node, &unused_entries);
	if (log) {
		records = vzalloc(array_size(log, sizeof(*records)));
		if (!records)
			return -ENOMEM;
	}
	for_each_kernel_tracepoint(register_probe, &nr_found);
	if (nr_found != ARRAY_SIZE(probes))
		return -ENOENT;
	dir = debugfs_create_dir("modelcpu", NULL);
	debugfs_create_file("stats", 0444, dir, NULL, &stats_fops);
	debugfs_create_file("log", 0444, dir, NULL, &log_fops);
	return 0;
}
