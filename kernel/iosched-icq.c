// SPDX-License-Identifier: GPL-2.0
/*
 * Per-process data of an elevator: one struct iosched_icq for each io_context at a queue, and the
 * share of the tags that a process may allocate.
 *
 * A process may exit while requests of it are in the core. Its exit is reported to the core with
 * the last of them; until then the references of the requests keep the io_cq.
 */
#include <linux/list.h>

#include "iosched.h"

static void report_exit(struct iosched *io, u64 now, struct iosched_icq *icq)
{
	icq->exit_reported = true;
	list_del_init(&icq->link);
	io->ops->exited(io->core, now, icq_process(icq));
}

/* Drops a request's count on @icq, which may be NULL. */
void iosched_put_icq(struct iosched *io, u64 now, struct iosched_icq *icq)
{
	if (!icq || --icq->nr_requests || !icq->exited || icq->exit_reported)
		return;
	report_exit(io, now, icq);
}

void iosched_init_icq(struct io_cq *io_cq)
{
	struct iosched *io = iosched_of(io_cq->q);
	struct iosched_icq *icq = to_iosched_icq(io_cq);
	unsigned long flags;

	icq->nr_requests = 0;
	icq->exited = false;
	icq->exit_reported = false;
	memset(icq->process, 0, io->ops->process_size);
	spin_lock_irqsave(&io->lock, flags);
	list_add_tail(&icq->link, &io->icqs);
	spin_unlock_irqrestore(&io->lock, flags);
}

/* Called when the process exits or the elevator is removed, under ioc->lock. */
void iosched_exit_icq(struct io_cq *io_cq)
{
	struct iosched *io = iosched_of(io_cq->q);
	struct iosched_icq *icq = to_iosched_icq(io_cq);
	unsigned long flags;

	spin_lock_irqsave(&io->lock, flags);
	icq->exited = true;
	if (!icq->nr_requests && !icq->exit_reported) {
		report_exit(io, iosched_clock(io, ktime_get_ns()), icq);
		iosched_set_timer(io);
	}
	spin_unlock_irqrestore(&io->lock, flags);
}

/*
 * 2.6.20 has one pool of requests per direction and lets the process that is waited for exceed it.
 * blk-mq has one pool for both, which asynchronous writes could use up and which cannot be
 * exceeded. Asynchronous requests therefore get at most three quarters of the tags, and one eighth
 * is reserved for the process that is waited for. A core that shares decides by what it dispatches.
 */
void iosched_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct iosched *io = iosched_of(data->q);
	unsigned int total = data->q->nr_requests;
	struct io_cq *io_cq;
	unsigned long flags;
	bool may_exceed;

	if (io->ops->shares)
		return;
	if (!op_is_sync(opf)) {
		compat_limit(data, max(1u, total - total / 4), total);
		return;
	}
	io_cq = compat_find_icq(data->q);
	if (io_cq) {
		spin_lock_irqsave(&io->lock, flags);
		may_exceed = io->ops->may_exceed(io->core, icq_process(to_iosched_icq(io_cq)));
		spin_unlock_irqrestore(&io->lock, flags);
		if (may_exceed)
			return;
	}
	compat_limit(data, max(1u, total - total / 8), total);
}
