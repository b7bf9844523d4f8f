// SPDX-License-Identifier: GPL-2.0
/*
 * The bios of modelload, equal to those of pread, pwrite and fsync on a block device with O_DIRECT:
 * reads have no flags, writes REQ_SYNC | REQ_IDLE, the I/O priority is best effort 4. Requests
 * submitted together are plugged (modelload-client.c). All data are in one page. The block layer
 * splits bios that exceed the device's limits.
 */

#include "modelload-arena.h"

static void piece_end_io(struct bio *bio)
{
	struct piece *piece = bio->bi_private;
	struct client *client = piece->client;
	struct modelload_record record;
	unsigned long flags;

	if (bio->bi_status)
		WRITE_ONCE(piece->error, blk_status_to_errno(bio->bi_status));
	bio_uninit(bio);
	if (!atomic_dec_and_test(&piece->open))
		return;
	record = (struct modelload_record) {
		.submitted_ns = piece->submitted_ns,
		.completed_ns = clock_ns(),
		.offset = piece->offset,
		.bytes = piece->bytes,
		.error = READ_ONCE(piece->error),
		.client = client->number,
		.kind = MODELLOAD_DONE,
		.op = piece->op,
	};
	spin_lock_irqsave(&client->lock, flags);
	log_done(client->arena, &record);
	list_add(&piece->node, &client->free);
	client_completed(client, record.completed_ns);
	spin_unlock_irqrestore(&client->lock, flags);
}

static void flush_end_io(struct bio *bio)
{
	struct client *client = bio->bi_private;
	struct modelload_record record = {
		.submitted_ns = client->flush_ns,
		.completed_ns = clock_ns(),
		.error = blk_status_to_errno(bio->bi_status),
		.client = client->number,
		.kind = MODELLOAD_SYNCED,
	};
	unsigned long flags;

	bio_uninit(bio);
	spin_lock_irqsave(&client->lock, flags);
	log_done(client->arena, &record);
	client_completed(client, record.completed_ns);
	spin_unlock_irqrestore(&client->lock, flags);
}

/* Submits a piece in bios of direct I/O's size. */
void submit_piece(struct piece *piece)
{
	struct arena *arena = piece->client->arena;
	blk_opf_t opf = REQ_OP_READ;
	u32 i, n = DIV_ROUND_UP(piece->bytes, BIO_BYTES);

	if (piece->op == MODELLOAD_WRITE)
		opf = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;
	atomic_set(&piece->open, n);
	piece->error = 0;
	piece->submitted_ns = clock_ns();
	/* The piece may be reused once its last bio is submitted. */
	for (i = 0; i < n; i++) {
		u32 done = i * BIO_BYTES;
		u32 bytes = min_t(u32, piece->bytes - done, BIO_BYTES);
		struct bio *bio = &piece->bios[i];

		bio_init(bio, arena->disk, arena->vecs, BIO_MAX_VECS, opf);
		bio->bi_vcnt = DIV_ROUND_UP(bytes, PAGE_SIZE);
		bio->bi_iter.bi_sector = (piece->offset + done) >> SECTOR_SHIFT;
		bio->bi_iter.bi_size = bytes;
		bio->bi_ioprio = BE_4;
		bio->bi_private = piece;
		bio->bi_end_io = piece_end_io;
		submit_bio(bio);
	}
}

/* fsync's flush on a block device, without requests of the client in flight. */
void submit_flush(struct client *client)
{
	struct bio *bio = &client->flush;

	client->flush_ns = clock_ns();
	bio_init(bio, client->arena->disk, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	bio->bi_private = client;
	bio->bi_end_io = flush_end_io;
	submit_bio(bio);
}
