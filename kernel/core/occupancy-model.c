// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Predicts the time that a request occupies the device, learned from the gaps between completions,
 * as in crates/elevator/src/algorithm/occupancy/model.rs. Times have 8 fractional bits.
 */
#include "occupancy-parts.h"

#define MOST (((s64)(10 * CORE_SECOND_NS)) << OCC_MODEL_BITS)
#define MIDDLE 64ll		/* sectors for which base and slope learn equally */
#define LARGEST (1u << 16)	/* sectors; larger requests count as this */
#define SLOWEST 5000ll		/* ns per sector at 100 MB/s, before any is learned */

static s64 clamped(s64 value, s64 least, s64 most)
{
	return value < least ? least : value > most ? most : value;
}

static u32 size_of(u32 nr_sectors)
{
	return nr_sectors < LARGEST ? nr_sectors : LARGEST;
}

void occ_model_init(struct occ_model *model)
{
	model->of[0].base = OCC_COLD;
	model->of[1].base = OCC_COLD;
}

u64 occ_predict(const struct occ *occ, bool write, u32 nr_sectors, u32 bucket)
{
	const struct occ_direction *of = &occ->model.of[write];
	u32 size = size_of(nr_sectors);
	s64 raw;

	if (!occ_on(occ, OCC_LEARNING))
		return 100000 + 5000 * (u64)size;
	raw = (of->base + of->slope * size + of->pos[bucket].value) >> OCC_MODEL_BITS;
	return core_max(raw > 0 ? (u64)raw : 0, OCC_LEAST);
}

s64 occ_positional_ns(const struct occ_model *model, u32 bucket)
{
	return model->of[0].pos[bucket].value >> OCC_MODEL_BITS;
}

bool occ_is_known(const struct occ_model *model, bool write)
{
	return model->of[write].nr >= 8;
}

/* Copies a value to empty neighbours, up to the next filled bucket. */
static void spread(struct occ_mean *pos, u32 bucket)
{
	u32 at;

	for (at = bucket + 1; at < OCC_BUCKETS && !pos[at].nr; at++)
		pos[at].value = pos[bucket].value;
	for (at = bucket; at > 1 && !pos[at - 1].nr; at--)
		pos[at - 1].value = pos[bucket].value;
}

static void learn_near(struct occ_direction *of, s64 size, s64 error)
{
	s64 step = (MIDDLE * MIDDLE + size * size) * (of->nr < 16 ? of->nr : 16);

	of->base = clamped(of->base + core_div_signed(error * (MIDDLE * MIDDLE), step), 0, MOST);
	of->slope = clamped(of->slope + core_div_signed(error * size, step), 0, MOST >> 4);
}

static void learn_by_distance(struct occ_direction *of, s64 size, u32 bucket, s64 error)
{
	/* Requests of equal size carry no information about the slope. */
	s64 apart = size - of->size.value;
	s64 norm = (MIDDLE * MIDDLE + apart * apart) * 64;
	struct occ_mean *mean = &of->pos[bucket];
	bool first = !mean->nr;

	occ_mean_add(&of->size, size, 64);
	of->slope = clamped(of->slope + core_div_signed(error * apart, norm), 0, MOST >> 4);
	occ_mean_add(mean, clamped(mean->value + error, -MOST, MOST), 16);
	if (first)
		spread(of->pos, bucket);
}

/* Without seeks, reads among writes wait for them: what they take longer is the next write's. */
static u64 without_writes(struct occ_model *model, const struct occ_sample *of, bool known,
			  u64 gap)
{
	u64 own;

	if (of->write) {
		gap += model->owed;
		model->owed = 0;
	} else if (known && of->with_writes) {
		own = core_min(gap, of->predicted + of->predicted / 4);
		model->owed += gap - own;
		gap = own;
	}
	return gap;
}

static void learn(struct occ *occ, const struct occ_sample *of, u64 gap)
{
	struct occ_model *model = &occ->model;
	struct occ_direction *direction = &model->of[of->write];
	s64 size = size_of(of->nr_sectors), sample, error, unsized_gap;
	bool known = occ_is_known(model, of->write);

	/* A stall of the device must not be attributed to one request. */
	gap = core_min(gap, known ? core_mul(of->predicted, 16) : CORE_SECOND_NS);
	if (occ_seeks(model) != OCC_YES)
		gap = without_writes(model, of, known, gap);
	sample = (s64)(gap << OCC_MODEL_BITS);
	error = clamped((s64)(((u64)((s64)gap - (s64)of->predicted)) << OCC_MODEL_BITS), -MOST, MOST);
	if (direction->nr != ~0u)
		direction->nr++;
	if (of->bucket)
		learn_by_distance(direction, size, of->bucket, error);
	else
		learn_near(direction, size, error);
	unsized_gap = sample - direction->slope * size;
	unsized_gap = unsized_gap > 0 ? unsized_gap : 0;
	occ_mean_add(&model->all, sample, 32);
	if (of->bucket >= OCC_FAR)
		occ_mean_add(&model->random, sample, 32);
	if (of->write)
		return;
	if (of->bucket <= 1)
		occ_mean_add(&model->near, unsized_gap, 64);
	else if (of->bucket >= OCC_FAR)
		occ_mean_add(&model->far, unsized_gap, 64);
}

static void learn_together(struct occ *occ)
{
	struct occ_model *model = &occ->model;
	u32 nr = model->nr_together, at;
	u64 gap = model->gap;

	model->nr_together = 0;
	model->gap = 0;
	for (at = 0; at < nr; at++)
		learn(occ, &model->together[at], nr == 1 ? gap : core_div(gap, nr));
}

void occ_model_completed(struct occ *occ, const struct occ_sample *sample, bool beside, u64 gap)
{
	struct occ_model *model = &occ->model;

	/* Requests that complete together share the gap before them. */
	if (!beside || gap >= sample->predicted / 8 || model->nr_together == OCC_TOGETHER)
		learn_together(occ);
	model->together[model->nr_together++] = *sample;
	model->gap += core_min(gap, 10 * CORE_SECOND_NS);
}

void occ_model_random_read(struct occ_model *model, u32 nr_sectors, u32 reads, bool with_writes,
			   u64 response)
{
	u64 transfer = (u64)SLOWEST * size_of(nr_sectors), own;

	own = core_div(response > transfer ? response - transfer : 0, reads);
	occ_mean_add(with_writes ? &model->quick_among_writes : &model->quick,
		     own < CORE_SECOND_NS / 1000 ? 1024 : 0, 64);
}
