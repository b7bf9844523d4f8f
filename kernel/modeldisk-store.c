// SPDX-License-Identifier: GPL-2.0
/*
 * A modelled disk's data: pages in an xarray, allocated on first write. Data are copied at
 * submission; overlapping commands have undefined results, as on any disk.
 */
#include <linux/highmem.h>

#include "modeldisk-device.h"

#define SECTORS_PER_PAGE (PAGE_SIZE >> SECTOR_SHIFT)

/* Allocates a missing page; does not sleep, as ->queue_rq may not. */
static struct page *page_for_write(struct modeldisk *dev, sector_t sector)
{
	unsigned long index = sector / SECTORS_PER_PAGE;
	struct page *page = xa_load(&dev->store, index), *other;

	if (page)
		return page;
	page = alloc_page(GFP_ATOMIC | __GFP_ZERO | __GFP_NOWARN);
	if (!page)
		return NULL;
	other = xa_cmpxchg(&dev->store, index, NULL, page, GFP_ATOMIC | __GFP_NOWARN);
	if (!other)
		return page;
	__free_page(page);
	return xa_is_err(other) ? NULL : other;
}

static int transfer_piece(struct modeldisk *dev, bool write, sector_t sector, size_t offset,
			  void *data, size_t len)
{
	struct page *page = write ? page_for_write(dev, sector) : xa_load(&dev->store,
			sector / SECTORS_PER_PAGE);
	void *stored;

	if (!page && write)
		return -ENOMEM;
	if (!page) {
		memset(data, 0, len);
		return 0;
	}
	stored = kmap_local_page(page);
	if (write)
		memcpy(stored + offset, data, len);
	else
		memcpy(data, stored + offset, len);
	kunmap_local(stored);
	return 0;
}

int modeldisk_store_transfer(struct modeldisk *dev, struct request *rq)
{
	bool write = req_op(rq) == REQ_OP_WRITE;
	u64 at = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec bvec;
	int error = 0;

	rq_for_each_segment(bvec, rq, iter) {
		void *data = bvec_kmap_local(&bvec);
		size_t done = 0;

		while (done < bvec.bv_len && !error) {
			size_t offset = at & (PAGE_SIZE - 1);
			size_t len = min_t(size_t, bvec.bv_len - done, PAGE_SIZE - offset);

			error = transfer_piece(dev, write, at >> SECTOR_SHIFT, offset, data + done,
					       len);
			done += len;
			at += len;
		}
		kunmap_local(data);
		if (error)
			return error;
		if (!write)
			flush_dcache_page(bvec.bv_page);
	}
	return 0;
}

void modeldisk_store_free(struct modeldisk *dev)
{
	struct page *page;
	unsigned long index;

	xa_for_each(&dev->store, index, page) {
		__free_page(page);
		cond_resched();
	}
	xa_destroy(&dev->store);
}
