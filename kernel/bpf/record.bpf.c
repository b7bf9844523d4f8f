// SPDX-License-Identifier: GPL-2.0
/*
 * Records the requests of some disks: one record per request, at its completion.
 *
 * A request costs three to four short programs and one record in a ring that user space polls.
 * Until completion its data are in preallocated arrays, which need no lock and whose lookups are
 * inlined. They are indexed by a hash of the address of the bio or request. If a set has no free
 * way, the request is counted as lost.
 *
 * Times are CLOCK_MONOTONIC. queued is block_bio_queue of the first bio, entered and tagged are
 * alloc_time_ns and start_time_ns if the kernel has them, the others are tracepoints. Bio-based
 * disks (device-mapper, md) are recorded by bio.
 */
#include "record.h"

char gpl[] SEC("license") = "GPL";

static __always_inline void count_lost(u32 cause)
{
	u64 *count = bpf_map_lookup_elem(&lost, &cause);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Never 0. The verifier rejects arithmetic on a pointer, but allows the difference of two. */
static __always_inline u64 address(const void *pointer)
{
	u64 number = (u64)pointer;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&ring));
	return number;
}

static __always_inline u32 hash(u64 key, u32 bits)
{
	return (key * 0x9e3779b97f4a7c15ull) >> (64 - bits);
}

static __always_inline u64 since(void)
{
	u32 first = 0;
	u64 *time = bpf_map_lookup_elem(&trace_since, &first);

	return time ? *time : 0;
}

static __always_inline u64 number_of(struct gendisk *disk)
{
	return (u64)disk->major << 32 | (u32)disk->first_minor;
}

/* -1 if the sector is not recorded. */
static __always_inline int target_of(struct gendisk *disk, u64 sector)
{
	u64 number;
	u32 i;

	if (!disk)
		return -1;
	number = number_of(disk);
	for (i = 0; i < MAX_TARGETS; i++) {
		if (i >= nr_targets)
			break;
		if (targets[i * TARGET_WORDS] == number && sector >= targets[i * TARGET_WORDS + 1] &&
		    sector < targets[i * TARGET_WORDS + 2])
			return i;
	}
	return -1;
}

static __always_inline bool is_wanted(u32 pid, u32 tid, u64 began, struct cgroup *cgroup)
{
	u32 i, depth;

	for (i = 0; i < MAX_FILTERS && i < nr_pids; i++)
		if ((pids[i] == pid || pids[i] == tid) && began <= pids_began_until)
			return true;
	if (!nr_cgroups)
		return !nr_pids;
	for (depth = 0; depth < MAX_DEPTH && cgroup; depth++) {
		struct cgroup_subsys_state *parent = cgroup->self.parent;
		u64 id = cgroup->kn->id;

		for (i = 0; i < MAX_FILTERS && i < nr_cgroups; i++)
			if (cgroups[i] == id)
				return true;
		if (!parent)
			break;
		cgroup = parent->cgroup;
	}
	return false;
}

static __always_inline u32 report_process(struct task_struct *task, struct known *found)
{
	struct record_process *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 0;
	found->number = __sync_fetch_and_add(&processes, 1) + 1;
	record->what = RECORD_PROCESS;
	record->number = found->number;
	record->pid = task->tgid;
	record->tid = task->pid;
	record->began = found->began;
	record->cgroup = found->cgroup;
	record->io_context = found->io_context;
	record->io_context_users = 0;
	if (field_exists(((struct io_context *)0)->active_ref) && task->io_context)
		record->io_context_users = task->io_context->active_ref.counter;
	record->unused = 0;
	bpf_get_current_comm(record->name, sizeof(record->name));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return found->number;
}

/*
 * The submitter. The cgroup of a kernel thread is that of the bio, because writeback serves others.
 * False if the process is not recorded.
 */
static __always_inline bool current_process(struct bio *bio, u32 *number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cgroup *cgroup = NULL;
	struct known_set *set;
	struct known now = {};
	u32 index, i;

	now.task = address(task);
	now.began = task->start_boottime;
	now.exec = task->self_exec_id;
	now.io_context = task->io_context ? address(task->io_context) : 0;
	if (!(task->flags & PF_KTHREAD)) {
		cgroup = task->cgroups->dfl_cgrp;
	} else if (bio && field_exists(bio->bi_blkg)) {
		struct blkcg_gq *blkg = bio->bi_blkg;

		if (blkg)
			cgroup = blkg->blkcg->css.cgroup;
	}
	if (cgroup)
		now.cgroup = cgroup->kn->id;
	index = hash(now.task ^ now.cgroup << 32, KNOWN_BITS);
	set = bpf_map_lookup_elem(&known_tasks, &index);
	if (!set)
		return false;
	for (i = 0; i < KNOWN_WAYS; i++) {
		struct known *way = &set->way[i];

		if (way->task == now.task && way->began == now.began && way->exec == now.exec &&
		    way->cgroup == now.cgroup && way->io_context == now.io_context) {
			*number = way->number;
			return way->wanted;
		}
	}
	now.wanted = is_wanted(task->tgid, task->pid, now.began, cgroup);
	*number = 0;
	if (now.wanted && !report_process(task, &now)) {
		count_lost(LOST_RING);
		return true;
	}
	*number = now.number;
	/* Prefer the way of an earlier incarnation, then a free one, then any. */
	index = now.began & (KNOWN_WAYS - 1);
	for (i = 0; i < KNOWN_WAYS; i++)
		if (!set->way[i].task)
			index = i;
	for (i = 0; i < KNOWN_WAYS; i++)
		if (set->way[i].task == now.task)
			index = i;
	set->way[index & (KNOWN_WAYS - 1)] = now;
	return now.wanted;
}

/* 0: none. Reports a scheduler on its first use. */
static __always_inline u8 scheduler_of(struct request_queue *q)
{
	struct elevator_queue *elevator = q->elevator;
	struct record_scheduler *record;
	u64 type;
	u32 i;

	if (!elevator)
		return 0;
	type = address(elevator->type);
	for (i = 0; i < MAX_SCHEDULERS; i++) {
		if (schedulers[i] == type)
			return i + 1;
		if (schedulers[i])
			continue;
		record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
		if (!record)
			return 0xff;
		record->what = RECORD_SCHEDULER;
		record->number = i + 1;
		record->name[0] = 0;
		bpf_probe_read_kernel_str(record->name, sizeof(record->name), elevator->type->elevator_name);
		schedulers[i] = type;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
		return i + 1;
	}
	return 0xff;
}

/* A merged bio is never seen again, so its address may now belong to another disk's bio. */
static __always_inline struct asked_way asked_of(struct bio *bio, struct gendisk *disk)
{
	struct asked_way none = {};
	struct asked_set *set;
	u32 index, target, i;
	u64 key;

	if (!bio || !disk)
		return none;
	key = address(bio);
	index = hash(key, ASKED_BITS);
	set = bpf_map_lookup_elem(&asked_bios, &index);
	if (!set)
		return none;
	for (i = 0; i < ASKED_WAYS; i++) {
		if (set->bio[i] != key)
			continue;
		target = set->way[i].target & (MAX_TARGETS - 1);
		if (targets[target * TARGET_WORDS] != number_of(disk))
			return none;
		return (struct asked_way){ &set->way[i], &set->bio[i], set->at[i] };
	}
	return none;
}

static __always_inline struct open_way open_of(u64 key)
{
	struct open_way none = {};
	struct open_set *set;
	u32 index = hash(key, OPEN_BITS), i;

	set = bpf_map_lookup_elem(&open_requests, &index);
	if (!set)
		return none;
	for (i = 0; i < OPEN_WAYS; i++)
		if (set->key[i] == key)
			return (struct open_way){ &set->way[i], &set->key[i] };
	return none;
}

/* Counts the request as lost if the set is full. */
static __always_inline struct open *open_new(u64 key)
{
	struct open_set *set;
	u32 index = hash(key, OPEN_BITS), i;

	set = bpf_map_lookup_elem(&open_requests, &index);
	if (!set)
		return NULL;
	for (i = 0; i < OPEN_WAYS; i++)
		if (!set->key[i] && __sync_val_compare_and_swap(&set->key[i], 0, key) == 0)
			return &set->way[i];
	count_lost(LOST_OPEN);
	return NULL;
}

static __always_inline u16 flag(u32 opf, u32 bit, u16 flag)
{
	return opf >> bit & 1 ? flag : 0;
}

static __always_inline u16 flags_of(u32 opf)
{
	u16 flags = 0;

	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_SYNC), FLAG_SYNC);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_META), FLAG_META);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_FUA), FLAG_FUA);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_PREFLUSH), FLAG_PREFLUSH);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_RAHEAD), FLAG_AHEAD);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_BACKGROUND), FLAG_BACKGROUND);
	flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_PRIO), FLAG_PRIO);
	if (enum_exists(enum req_flag_bits, __REQ_SWAP))
		flags |= flag(opf, enum_value(enum req_flag_bits, __REQ_SWAP), FLAG_SWAP);
	/* All reads except read-ahead are synchronous. */
	if ((opf & REQ_OP_MASK) == REQ_OP_READ && !(flags & FLAG_AHEAD))
		flags |= FLAG_SYNC;
	return flags;
}

static __always_inline u8 kind_of(u32 opf, u32 sectors)
{
	switch (opf & REQ_OP_MASK) {
	case REQ_OP_READ:
		return KIND_READ;
	case REQ_OP_WRITE:
		return sectors ? KIND_WRITE : KIND_FLUSH;
	case REQ_OP_FLUSH:
		return KIND_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return KIND_DISCARD;
	}
	return KIND_OTHER;
}

static __always_inline void report(const struct open *open, u64 entered, u64 tagged, u64 now, bool failed)
{
	struct record_io *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record) {
		count_lost(LOST_RING);
		return;
	}
	record->what = RECORD_IO;
	record->process = open->process;
	record->sector = open->sector;
	record->sectors = open->sectors;
	record->flags = flags_of(open->opf) | open->flags | (failed ? FLAG_FAILED : 0);
	record->kind = kind_of(open->opf, open->sectors);
	record->scheduler = open->scheduler;
	record->priority = open->priority;
	record->bios = open->bios;
	record->target = open->target;
	record->queued = open->queued;
	record->entered = entered;
	record->tagged = tagged;
	record->inserted = open->inserted;
	record->issued = open->issued;
	record->completed = now;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline u64 tagged_at(struct request *rq)
{
	return field_exists(rq->start_time_ns) ? rq->start_time_ns : 0;
}

static __always_inline u64 entered_at(struct request *rq)
{
	return field_exists(rq->alloc_time_ns) ? rq->alloc_time_ns : 0;
}

static __always_inline struct open *begin(struct request *rq, u64 now)
{
	u32 bytes = rq->__data_len, number = 0;
	u64 sector = rq->__sector, tagged = tagged_at(rq);
	struct request_queue *q = rq->q;
	struct bio *bio = rq->bio;
	struct asked_way found;
	struct open *open;
	int target;

	if (sector == ~0ull)
		sector = 0;
	target = target_of(q->disk, sector);
	if (target < 0 || !since())
		return NULL;
	/* The flush machinery's own request. The flushes that it serves are reported themselves. */
	if (!bio && (rq->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH)
		return NULL;
	found = asked_of(bio, q->disk);
	if (!found.asked) {
		/* Queued before the recording, by another process, or without a bio. */
		if ((tagged && tagged < since()) || !current_process(bio, &number))
			return NULL;
		if (nr_pids + nr_cgroups && bio)
			return NULL;
	}
	open = open_new(address(rq));
	if (!open) {
		return NULL;
	}
	open->inserted = 0;
	open->issued = 0;
	open->sector = sector;
	open->sectors = bytes >> 9;
	open->flags = 0;
	open->bios = 1;
	open->priority = 0;
	open->scheduler = scheduler_of(q);
	open->target = target;
	if (found.asked) {
		open->queued = found.at;
		open->process = found.asked->process;
		open->opf = found.asked->opf;
		*found.bio = 0;
	} else {
		open->queued = tagged && tagged < now ? tagged : now;
		open->process = number;
		open->opf = rq->cmd_flags;
	}
	return open;
}

/* If it was issued, its completion was not seen and this is another request. */
static __always_inline struct open *open_unless_issued(struct request *rq)
{
	struct open_way found = open_of(address(rq));

	if (found.open && found.open->issued) {
		count_lost(LOST_STALE);
		*found.key = 0;
		return NULL;
	}
	return found.open;
}

SEC("tp_btf/block_bio_queue")
int on_bio_queue(u64 *ctx)
{
	struct bio *bio = (struct bio *)ctx[0];
	u64 sector = bio->bi_iter.bi_sector, key = address(bio), now;
	u32 index, number, i, oldest = 0;
	struct asked_set *set;
	struct open *open;
	int target;

	/* A flush without data has no sector, but its partition has one. */
	if (!bio->bi_iter.bi_size)
		sector = bio->bi_bdev->bd_start_sect;
	target = target_of(bio->bi_bdev->bd_disk, sector);
	if (target < 0 || !since() || !current_process(bio, &number))
		return 0;
	now = bpf_ktime_get_ns();
	if (targets[(target & (MAX_TARGETS - 1)) * TARGET_WORDS + 3]) {
		open = open_of(key).open;
		if (open)
			count_lost(LOST_STALE);
		else
			open = open_new(key);
		if (!open)
			return 0;
		open->queued = now;
		open->inserted = 0;
		open->issued = 0;
		open->sector = sector;
		open->sectors = bio->bi_iter.bi_size >> 9;
		open->opf = bio->bi_opf;
		open->process = number;
		open->flags = 0;
		open->bios = 1;
		open->priority = bio->bi_ioprio;
		open->scheduler = 0;
		open->target = target;
		return 0;
	}
	index = hash(key, ASKED_BITS);
	set = bpf_map_lookup_elem(&asked_bios, &index);
	if (!set)
		return 0;
	/* Reuse the way of the same bio, or the oldest, whose bio was merged long ago. */
	for (i = 0; i < ASKED_WAYS; i++) {
		if (set->bio[i] == key) {
			oldest = i;
			break;
		}
		if (set->at[i] < set->at[oldest & (ASKED_WAYS - 1)])
			oldest = i;
	}
	oldest &= ASKED_WAYS - 1;
	set->at[oldest] = now;
	set->way[oldest].process = number;
	set->way[oldest].opf = bio->bi_opf;
	set->way[oldest].target = target;
	set->bio[oldest] = key;
	return 0;
}

SEC("tp_btf/block_rq_insert")
int on_insert(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	struct open *open = open_unless_issued(rq);

	if (!open)
		open = begin(rq, now);
	if (open && !open->inserted)
		open->inserted = now;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int on_issue(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	struct open *open = open_unless_issued(rq);
	struct bio *bio;
	u32 i;

	if (!open)
		open = begin(rq, now);
	if (!open)
		return 0;
	open->issued = now;
	/* Includes merges since the insertion. */
	bio = rq->bio;
	if (bio) {
		open->sector = rq->__sector;
		open->sectors = rq->__data_len >> 9;
		open->priority = bio->bi_ioprio;
		if (bio != rq->biotail) {
			for (i = 0; i < MAX_BIOS && bio; i++)
				bio = bio->bi_next;
			open->bios = i;
		}
	}
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int on_requeue(u64 *ctx)
{
	struct open *open = open_of(address((void *)ctx[0])).open;

	if (open) {
		open->issued = 0;
		open->flags |= FLAG_REQUEUED;
	}
	return 0;
}

SEC("tp_btf/block_rq_merge")
int on_merge(u64 *ctx)
{
	struct open_way found = open_of(address((void *)ctx[0]));

	if (found.open)
		*found.key = 0;
	return 0;
}

SEC("tp_btf/block_rq_complete")
int on_complete(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u32 error = ctx[1], bytes = ctx[2];
	struct open_way found = open_of(address(rq));
	struct open flush = {};
	struct asked_way own;

	if (found.open) {
		/* Partial completion. */
		if (rq->__data_len > bytes)
			return 0;
		if (!found.open->issued)
			count_lost(LOST_ISSUE);
		report(found.open, entered_at(rq), tagged_at(rq), bpf_ktime_get_ns(), error);
		*found.key = 0;
		return 0;
	}
	/* A flush without data is not issued. The block layer issues one flush for several. */
	own = asked_of(rq->bio, rq->q->disk);
	if (!own.asked)
		return 0;
	if (rq->__data_len) {
		/* Partial completion. */
		if (rq->__data_len > bytes)
			return 0;
		count_lost(LOST_ISSUE);
		flush.sector = rq->__sector;
		flush.sectors = bytes >> 9;
	}
	flush.queued = own.at;
	flush.process = own.asked->process;
	flush.opf = own.asked->opf;
	flush.bios = 1;
	flush.scheduler = scheduler_of(rq->q);
	flush.target = own.asked->target;
	*own.bio = 0;
	report(&flush, entered_at(rq), tagged_at(rq), bpf_ktime_get_ns(), error);
	return 0;
}

/* Bio-based disks only. */
SEC("tp_btf/block_bio_complete")
int on_bio_complete(u64 *ctx)
{
	struct open_way found = open_of(address((void *)ctx[1]));

	if (!found.open)
		return 0;
	report(found.open, 0, 0, bpf_ktime_get_ns(), false);
	*found.key = 0;
	return 0;
}
