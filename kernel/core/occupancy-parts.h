/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Internal to occupancy*.c. */
#ifndef SCHEDLAB_CORE_OCCUPANCY_PARTS_H
#define SCHEDLAB_CORE_OCCUPANCY_PARTS_H

#include "arith.h"
#include "elevator.h"

/* Internal units per unit of weight. An idle-class request counts one of them per unit. */
#define OCC_WEIGHT_SCALE 64ull
/* The slack is defined for this weight. */
#define OCC_USUAL_WEIGHT (100 * OCC_WEIGHT_SCALE)
#define OCC_VIRTUAL_BITS 10

/* In order of precedence within the slack. */
enum { OCC_REAL_TIME, OCC_ON_CREDIT, OCC_SYNC, OCC_ASYNC, OCC_CLASSES };

/* In row order. All are internal. */
enum {
	OCC_FAIRNESS, OCC_LEARNING, OCC_ANTICIPATION, OCC_HOLDS, OCC_POSITIONS, OCC_CREDIT,
	OCC_BY_CLASS, OCC_SLACK_COSTS, OCC_TURN, OCC_OVERDUE_MS, OCC_OVERDUE_EVERY,
	OCC_CREDIT_COSTS, OCC_CREDIT_SHARE, OCC_IDLE_PERCENT, OCC_EXPOSED, OCC_TUNABLES
};

/* A plain mean of the first samples, then exponential with weight 1/most. */
struct occ_mean {
	s64 value;
	u32 nr;
};

#define OCC_EDGES 16

/* Think times up to each edge, and beyond. */
struct occ_thinks {
	u16 counts[OCC_EDGES + 1];
	u16 nr;
};

void occ_thinks_add(struct occ_thinks *thinks, u64 ns);
bool occ_thinks_known(const struct occ_thinks *thinks);
/*
 * How long to wait after the last completion, @elapsed ago, if an arrival saves @gain. 0: waiting
 * does not pay.
 */
u64 occ_thinks_best_wait(const struct occ_thinks *thinks, u64 elapsed, u64 gain);

/* Fractional bits of learned times. */
#define OCC_MODEL_BITS 8
#define OCC_LEAST 250ull	/* ns */
#define OCC_COLD (100000ll << OCC_MODEL_BITS)
#define OCC_ENOUGH 16		/* near and far samples needed to judge positions */
#define OCC_BUCKETS 32
#define OCC_FAR 16		/* bucket from which distances are far: 32 MiB */
#define OCC_TOGETHER 8

struct occ_direction {
	s64 base, slope;	/* ns with 8 fractional bits; slope per sector */
	struct occ_mean size;	/* far requests, in sectors */
	u32 nr;
	struct occ_mean pos[OCC_BUCKETS];
};

struct occ_sample {
	u64 predicted;
	u32 nr_sectors;
	u8 bucket;
	bool write;
	bool with_writes;	/* in the device */
};

struct occ_model {
	struct occ_direction of[2];
	/* Requests that completed together, and the gap that they share. */
	struct occ_sample together[OCC_TOGETHER];
	u32 nr_together;
	u64 gap;
	struct occ_mean near, far;	/* sequential and far reads, without the size part */
	/* 1024 * the part of random reads that are quick, without writes in the device and with. */
	struct occ_mean quick, quick_among_writes;
	struct occ_mean random, all;	/* gaps of far requests, and of all */
	u64 owed;		/* gaps of reads that writes caused */
};

struct occ;

void occ_model_init(struct occ_model *model);
u64 occ_predict(const struct occ *occ, bool write, u32 nr_sectors, u32 bucket);
s64 occ_positional_ns(const struct occ_model *model, u32 bucket);
bool occ_is_known(const struct occ_model *model, bool write);
/* @beside: in the device at the previous completion. */
void occ_model_completed(struct occ *occ, const struct occ_sample *sample, bool beside, u64 gap);
/* @reads shared the device. */
void occ_model_random_read(struct occ_model *model, u32 nr_sectors, u32 reads, bool with_writes,
			   u64 response);

enum occ_answer { OCC_NO, OCC_YES, OCC_UNKNOWN };
static inline void occ_mean_add(struct occ_mean *mean, s64 sample, u32 most)
{
	if (mean->nr < most)
		mean->nr++;
	mean->value += core_div_signed(sample - mean->value, mean->nr);
}

static inline u32 occ_bucket(u64 from, u64 sector)
{
	u64 distance = core_diff(from, sector);
	u32 bits = distance ? 64 - (u32)__builtin_clzll(distance) : 0;

	return bits < OCC_BUCKETS ? bits : OCC_BUCKETS - 1;
}

static inline u64 occ_random_ns(const struct occ_model *model)
{
	s64 mean = model->random.nr ? model->random.value : model->all.value;

	return mean ? core_max((u64)(mean >> OCC_MODEL_BITS), OCC_LEAST) : (u64)OCC_COLD >> OCC_MODEL_BITS;
}

static inline u64 occ_far_ns(const struct occ_model *model)
{
	return (u64)(model->far.value >> OCC_MODEL_BITS);
}

/*
 * Whether three of four random reads take over a millisecond, or, as long as all were among writes,
 * fifteen of sixteen: flash may be collecting.
 */
static inline enum occ_answer occ_seeks(const struct occ_model *model)
{
	if (model->quick.nr < 8 && model->quick_among_writes.nr >= 8)
		return model->quick_among_writes.value < 64 ? OCC_YES : OCC_NO;
	if (!model->quick.nr)
		return OCC_UNKNOWN;
	return model->quick.value < 256 ? OCC_YES : OCC_NO;
}

/* A device that seeks has positions until near reads show otherwise. */
static inline enum occ_answer occ_positions_matter(const struct occ_model *model)
{
	enum occ_answer seeks = occ_seeks(model);

	if (seeks == OCC_NO || model->near.nr < OCC_ENOUGH || model->far.nr < OCC_ENOUGH)
		return seeks;
	return model->far.value > 2 * model->near.value ? OCC_YES : OCC_NO;
}

struct occ_fifo {
	u32 head, tail;
	u32 exposed;		/* the oldest requests that are exposed */
	u32 hidden;		/* the oldest one that is not */
};

/* Orders of flows by start tag: one per class, and two more. */
enum { OCC_THROTTLED = OCC_CLASSES, OCC_ACTIVE, OCC_HEAPS };

struct occ_process {
	struct occ_process *next, *prev;	/* on occ->processes */
	u64 start;		/* start tag of the next request */
	u64 weight;		/* scaled by OCC_WEIGHT_SCALE */
	u64 touched;		/* last arrival or completion */
	u64 credit;		/* in mean random requests, with fractional bits */
	u64 counted;		/* weight included in the sum of active flows, or 0 */
	u64 entered[OCC_HEAPS];	/* makes heaps FIFO for equal start tags */
	u32 heap_at[OCC_HEAPS];	/* index + 1, or 0 */
	struct occ_fifo fifos[OCC_CLASSES];
	u32 queued;
	u32 in_flight;		/* issued or requeued */
	u32 waiting, busy;	/* outside and in the device */
	/* 0: unknown. */
	u64 last_end, done;
	/* Cost of its next position if no other request intervenes. */
	struct occ_mean own_position;
	struct occ_thinks thinks;
	bool known, may_go, counted_on_credit, counted_privileged;
};

enum occ_place { OCC_NOWHERE, OCC_QUEUED, OCC_HEAD, OCC_IN_FLIGHT };

struct occ_slot {
	u64 sector, seq;
	struct occ_process *process;
	u64 rank;		/* order of arrival */
	u64 since;		/* when it was exposed; later, issued */
	u64 predicted;		/* occupancy; 0: not charged yet */
	u32 nr_sectors;
	u32 reads;		/* that share the device with a random read; 0: not one */
	u32 left, right, height;	/* in the treap */
	u32 before, after;	/* in the FIFO; @after also links requeued requests */
	u32 older, younger;	/* among the exposed requests of the class */
	u8 class, bucket, place;
	u8 prio_class;
	bool exposed, with_writes, write, sync;
};

_Static_assert(sizeof(struct occ_slot) + OCC_HEAPS * sizeof(struct occ_process *) <= 200,
	       "a held request takes 200 bytes at most");

struct occ_heap {
	struct occ_process **of;
	u32 nr;
	u64 entered;
};

struct occ_exposed {
	u32 root;
	u32 oldest, youngest;
};

struct occ {
	u64 set[OCC_TUNABLES];
	u32 tags;
	struct occ_slot *slots;
	struct occ_process *processes;

	/* Derived from tunables and model by occ_refresh(). */
	u64 slack;		/* ns at the usual weight */
	u64 virtual_slack;
	u32 most;
	bool exposes;		/* the device may seek, so that requests have positions */

	struct occ_model model;

	struct occ_heap heaps[OCC_HEAPS];
	struct occ_exposed exposed[OCC_CLASSES];
	u32 queued;
	u64 arrived;
	u32 random;		/* for the treaps */
	u32 came_back;		/* requeued tags, last in first out */
	u32 nr_came_back;

	u64 virtual_time;
	u64 weights, credit_weights;	/* of active flows, and of those on credit */
	u32 nr_on_credit, nr_privileged;	/* privileged: with credit, or another weight */
	u64 busy_since;		/* start of the busy period; gaps up to 1 s are ignored */
	u64 last_touched;
	u64 granted, granted_since;	/* credit whose time has not been earned yet */
	u64 births, births_since;	/* new processes, halved every second */

	u32 in_flight, writes_in_flight;
	u32 random_in_flight;	/* reads far from their process's last */
	/* A second after the last request of the real-time class, and after the last read. */
	u64 real_time_until, read_until;
	bool leaves_tags;	/* there are reads, to which writes leave a quarter of the tags */
	u64 mark;		/* last completion, or first issue to an idle device */
	u64 head;		/* end of the last dispatch */
	/* Of the last dispatch, if sync, or of a completion since, if it is behind. */
	struct occ_process *last;
	struct occ_thinks thinks;	/* for processes without history */
	u64 turn;		/* rest of the async slice */
	u64 since_turn;		/* others' occupancy since the last async slice */
	u64 since_overdue;	/* dispatches since the last one because of age */

	bool waits;
	struct occ_process *waits_for;	/* NULL: it has exited */
	u64 waits_since;
	u64 timer;
	u64 idle_tokens, idle_since;	/* time left for failed waits */
	struct core_anticipation counts;
	/* Latest time on a monotonic clock, and its lead over the caller's. */
	u64 latest, ahead;
};

/* If the caller's clock goes back, time stops and continues from there. */
static inline u64 occ_now(struct occ *occ, u64 now)
{
	now = core_add(now, occ->ahead);
	if (now < occ->latest)
		occ->ahead += occ->latest - now;
	else
		occ->latest = now;
	return occ->latest;
}

static inline bool occ_on(const struct occ *occ, u32 tunable)
{
	return occ->set[tunable];
}

static inline struct occ_process *occ_process_of(struct core_process *process)
{
	return (struct occ_process *)process;
}

static inline u64 occ_end_of(const struct occ_slot *slot)
{
	return slot->sector + slot->nr_sectors;
}

void occ_tree_insert(struct occ *occ, u32 class, u32 tag);
void occ_tree_remove(struct occ *occ, u32 class, u32 tag);
/* The next request at or after @sector, otherwise the lowest, or CORE_NONE. */
u32 occ_tree_next(const struct occ *occ, u32 class, u64 sector);
/* Also moves a flow whose start tag has changed. */
void occ_heap_set(struct occ *occ, u32 heap, struct occ_process *of);
void occ_heap_remove(struct occ *occ, u32 heap, struct occ_process *of);

static inline struct occ_process *occ_heap_first(const struct occ *occ, u32 heap)
{
	return occ->heaps[heap].nr ? occ->heaps[heap].of[0] : NULL;
}

void occ_queue(struct occ *occ, u64 now, u32 tag);
void occ_unqueue(struct occ *occ, u64 now, u32 tag);
/* Both are in the same FIFO; @survivor takes the older place. */
void occ_absorb(struct occ *occ, u64 now, u32 survivor, u32 gone);
void occ_grow(struct occ *occ, const struct core_request *after);
/* Exposed requests stay exposed. */
void occ_set_exposes(struct occ *occ, u64 now, bool exposes);
void occ_allow(struct occ *occ, u64 now, struct occ_process *of, bool may_go);
u32 occ_backlogged(const struct occ *occ);

static inline bool occ_is_active(const struct occ_process *of)
{
	return of->queued || of->in_flight;
}

void occ_restart(struct occ *occ, struct occ_process *of, u64 start);
void occ_track(struct occ *occ, u64 now, struct occ_process *of);
void occ_wakes(struct occ *occ, u64 now, struct occ_process *of);
void occ_touched(struct occ *occ, u64 now, struct occ_process *of);
u32 occ_class_of(const struct occ *occ, const struct occ_process *of,
		 const struct core_request *rq);
u64 occ_weight_of(const struct occ *occ, const struct occ_slot *slot);
void occ_spend(struct occ *occ, const struct occ_slot *slot, u64 charge);
void occ_count(struct occ *occ, struct occ_process *of);
void occ_follow(struct occ *occ);
void occ_forget(struct occ *occ, struct occ_process *of);

u32 occ_choose(struct occ *occ, u64 now, bool *overdue);
/* Whether to wait instead of dispatching @tag. Sets the timer. */
bool occ_waits(struct occ *occ, u64 now, u32 tag);

void occ_insert(void *core, u64 now, const struct core_request *rq, bool at_head);
u32 occ_dispatch(void *core, u64 now);
void occ_complete(void *core, u64 now, u32 tag);
void occ_end_wait(struct occ *occ, u64 now, const struct occ_process *process);

void occ_refresh(struct occ *occ);

#endif
