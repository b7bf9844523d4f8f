// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Insert, dispatch and complete. Requeued requests go first and are not charged again. */
#include "occupancy-parts.h"

/*
 * Whether flows may be too far ahead. A device without seeks takes what it can, unless a flow is
 * privileged. While it is unknown whether it seeks, a random read among writes is to show it, and
 * has to be served for that.
 */
static bool is_bounded(const struct occ *occ)
{
	enum occ_answer seeks = occ_seeks(&occ->model);

	return seeks == OCC_YES || occ->nr_privileged ||
	       (seeks == OCC_UNKNOWN && occ->random_in_flight && occ->writes_in_flight) ||
	       occ->latest < occ->real_time_until;
}

static u64 limit_of(struct occ *occ)
{
	struct occ_process *active = occ_heap_first(occ, OCC_ACTIVE);
	u64 from;

	if (!is_bounded(occ))
		return CORE_MAX;
	from = occ->virtual_time;
	if (active && occ_on(occ, OCC_HOLDS))
		from = core_min(from, active->start);
	return core_add(from, occ->virtual_slack);
}

static void free_flows(struct occ *occ, u64 now, u64 limit)
{
	struct occ_process *of;

	while ((of = occ_heap_first(occ, OCC_THROTTLED)) && of->start <= limit)
		occ_allow(occ, now, of, true);
}

/* Throttles a flow that is too far ahead, and releases others. */
static void bound(struct occ *occ, u64 now, struct occ_process *of)
{
	u64 limit;

	occ_follow(occ);
	limit = limit_of(occ);
	if (of->may_go != (of->start <= limit))
		occ_allow(occ, now, of, !of->may_go);
	free_flows(occ, now, limit);
}

static void charge(struct occ *occ, u64 now, struct occ_process *of, u64 occupancy, u64 weight)
{
	if (occ_on(occ, OCC_FAIRNESS))
		occ_restart(occ, of, core_add(of->start, core_div(occupancy << OCC_VIRTUAL_BITS,
								  weight)));
	bound(occ, now, of);
}

static void account(struct occ *occ, u64 now, struct occ_slot *slot)
{
	slot->bucket = (u8)occ_bucket(occ->head, slot->sector);
	slot->predicted = occ_predict(occ, slot->write, slot->nr_sectors, slot->bucket);
	charge(occ, now, slot->process, slot->predicted, occ_weight_of(occ, slot));
	occ_spend(occ, slot, slot->predicted);
}

/*
 * The think time is the arrival minus the last completion. Returns whether it is a read far from
 * its process's last request: no drive has read it ahead.
 */
static bool learn_arrival(struct occ *occ, u64 now, const struct core_request *rq)
{
	struct occ_process *of = occ_process_of(rq->process);
	u32 distance;

	of->waiting++;
	if (!rq->sync)
		return false;
	if (of->done) {
		u64 thought = now > of->done ? now - of->done : 0;

		occ_thinks_add(&occ->thinks, thought);
		occ_thinks_add(&of->thinks, thought);
		of->done = 0;
	}
	distance = occ_bucket(of->last_end, rq->sector);
	if (of->last_end)
		occ_mean_add(&of->own_position, occ_positional_ns(&occ->model, distance), 8);
	of->last_end = rq->sector + rq->nr_sectors;
	return distance >= OCC_FAR && !rq->write;
}

static void fill(struct occ_slot *slot, const struct core_request *rq)
{
	slot->sector = rq->sector;
	slot->seq = rq->seq;
	slot->nr_sectors = rq->nr_sectors;
	slot->write = rq->write;
	slot->sync = rq->sync;
	slot->prio_class = rq->prio_class;
}

static void push_came_back(struct occ *occ, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];

	slot->place = OCC_HEAD;
	slot->after = occ->came_back;
	occ->came_back = tag;
	occ->nr_came_back++;
}

static void insert_again(struct occ *occ, const struct core_request *rq)
{
	struct occ_slot *slot = &occ->slots[rq->tag];

	fill(slot, rq);
	occ->in_flight--;
	occ->writes_in_flight -= slot->write;
	occ->random_in_flight -= slot->reads > 0;
	slot->process->busy--;
	slot->process->waiting++;
	push_came_back(occ, rq->tag);
}

void occ_insert(void *core, u64 now, const struct core_request *rq, bool at_head)
{
	struct occ *occ = core;
	struct occ_slot *slot = &occ->slots[rq->tag];
	struct occ_process *of = occ_process_of(rq->process);

	now = occ_now(occ, now);
	if (!rq->write)
		occ->read_until = core_add(now, CORE_SECOND_NS);
	occ->leaves_tags = now < occ->read_until;
	if (at_head && slot->place != OCC_NOWHERE) {
		insert_again(occ, rq);
		return;
	}
	occ_track(occ, now, of);
	if (!occ_is_active(of))
		occ_wakes(occ, now, of);
	of->weight = (8 - core_min(rq->prio_level, 7)) * 25 * OCC_WEIGHT_SCALE;
	slot->class = (u8)occ_class_of(occ, of, rq);
	if (slot->class == OCC_REAL_TIME)
		occ->real_time_until = core_add(now, CORE_SECOND_NS);
	slot->reads = learn_arrival(occ, now, rq);
	occ_touched(occ, now, of);
	fill(slot, rq);
	slot->process = of;
	slot->rank = occ->arrived++;
	slot->since = 0;
	slot->predicted = 0;
	slot->bucket = 0;
	slot->exposed = false;
	slot->with_writes = false;
	if (at_head) {
		of->in_flight++;
		occ_count(occ, of);
		push_came_back(occ, rq->tag);
		return;
	}
	slot->place = OCC_QUEUED;
	occ_queue(occ, now, rq->tag);
	occ_count(occ, of);
	bound(occ, now, of);
}

void occ_end_wait(struct occ *occ, u64 now, const struct occ_process *process)
{
	u64 waited = now > occ->waits_since ? now - occ->waits_since : 0;

	if (!occ->waits)
		return;
	occ->waits = false;
	if (occ->waits_for == process) {
		occ->counts.successes++;
		occ->counts.success_wait_ns += waited;
		return;
	}
	occ->counts.failures++;
	occ->counts.failure_wait_ns += waited;
	occ->idle_tokens = occ->idle_tokens > waited ? occ->idle_tokens - waited : 0;
}

static void issue(struct occ *occ, u64 now, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];
	struct occ_process *of = slot->process;

	if (!occ->in_flight)
		occ->mark = now;
	slot->place = OCC_IN_FLIGHT;
	slot->with_writes = occ->writes_in_flight;
	if (slot->reads) {
		slot->reads = occ->in_flight + 1 - occ->writes_in_flight;
		occ->random_in_flight++;
	}
	slot->since = now;
	of->waiting--;
	of->busy++;
	occ->in_flight++;
	occ->writes_in_flight += slot->write;
	occ->head = occ_end_of(slot);
	occ->last = slot->sync ? of : NULL;
	occ->timer = CORE_NEVER;
}

static void give(struct occ *occ, u64 now, u32 tag, bool is_overdue)
{
	struct occ_slot *slot = &occ->slots[tag];

	occ_unqueue(occ, now, tag);
	occ_end_wait(occ, now, slot->process);
	slot->process->in_flight++;
	account(occ, now, slot);
	if (slot->class == OCC_ASYNC) {
		if (!occ->turn)
			occ->turn = core_div(occ->slack * occ->set[OCC_TURN], 100);
		occ->turn = occ->queued && occ->turn > slot->predicted ?
			    occ->turn - slot->predicted : 0;
		occ->since_turn = 0;
	} else {
		occ->turn = 0;
		occ->since_turn = core_add(occ->since_turn, slot->predicted);
	}
	occ->since_overdue = is_overdue ? 0 : occ->since_overdue + 1;
	issue(occ, now, tag);
}

static u32 dispatch_again(struct occ *occ, u64 now)
{
	u32 tag = occ->came_back;
	struct occ_slot *slot = &occ->slots[tag];

	occ->came_back = slot->after;
	occ->nr_came_back--;
	occ_end_wait(occ, now, slot->process);
	if (!slot->predicted)
		account(occ, now, slot);
	issue(occ, now, tag);
	return tag;
}

u32 occ_dispatch(void *core, u64 now)
{
	struct occ *occ = core;
	bool is_overdue;
	u32 tag;

	now = occ_now(occ, now);
	if (occ->came_back != CORE_NONE)
		return dispatch_again(occ, now);
	if (!occ->queued)
		return CORE_NONE;
	occ->timer = CORE_NEVER;
	free_flows(occ, now, limit_of(occ));
	tag = occ_choose(occ, now, &is_overdue);
	if (tag == CORE_NONE)
		return CORE_NONE;
	if (!is_overdue && occ_waits(occ, now, tag))
		return CORE_NONE;
	give(occ, now, tag, is_overdue);
	return tag;
}

static void measure(struct occ *occ, u64 now, struct occ_slot *slot, u64 before)
{
	u64 gap = now > before ? now - before : 0;
	struct occ_sample sample = {
		.predicted = slot->predicted,
		.nr_sectors = slot->nr_sectors,
		.bucket = slot->bucket,
		.write = slot->write,
		.with_writes = occ->writes_in_flight,
	};

	occ_model_completed(occ, &sample, slot->since < before, gap);
	if (slot->reads)
		occ_model_random_read(&occ->model, slot->nr_sectors, slot->reads,
				      slot->with_writes || occ->writes_in_flight,
				      now - slot->since);
}

void occ_complete(void *core, u64 now, u32 tag)
{
	struct occ *occ = core;
	struct occ_slot *slot = &occ->slots[tag];
	struct occ_process *of = slot->process;
	u64 before = occ->mark;

	now = occ_now(occ, now);
	occ->mark = now;
	occ->in_flight--;
	occ->writes_in_flight -= slot->write;
	occ->random_in_flight -= slot->reads > 0;
	of->in_flight--;
	measure(occ, now, slot, before);
	occ_refresh(occ);
	slot->place = OCC_NOWHERE;
	of->busy--;
	if (slot->sync && !of->waiting && !of->busy) {
		of->done = core_max(now, 1);
		if (of->start < occ->virtual_time)
			occ->last = of;
	}
	occ_touched(occ, now, of);
	occ_count(occ, of);
}
