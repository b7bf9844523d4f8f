/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* ChaCha8, as in crates/sim/src/random.rs. */
#ifndef SCHEDLAB_CORE_DISK_RANDOM_H
#define SCHEDLAB_CORE_DISK_RANDOM_H

#include "disk-model.h"

#define CHACHA_WORDS	16u
#define CHACHA_ROUNDS	8
#define CHACHA_TABLE	40u	/* bytes of key and stream */

struct chacha {
	u32 key[8], stream[2];
	u64 block;
	u32 words[CHACHA_WORDS];
	u32 used;
};

static inline u32 rotate(u32 word, u32 by)
{
	return word << by | word >> (32 - by);
}

static inline void quarter_round(u32 *x, u32 a, u32 b, u32 c, u32 d)
{
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotate(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotate(x[b] ^ x[c], 7);
}

/* The original variant with 64-bit counter and stream. */
static inline void chacha_block(struct chacha *random)
{
	u32 input[CHACHA_WORDS] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	u32 x[CHACHA_WORDS], at;

	for (at = 0; at < 8; at++)
		input[4 + at] = random->key[at];
	input[12] = (u32)random->block;
	input[13] = (u32)(random->block >> 32);
	input[14] = random->stream[0];
	input[15] = random->stream[1];
	memcpy(x, input, sizeof(x));
	for (at = 0; at < CHACHA_ROUNDS / 2; at++) {
		quarter_round(x, 0, 4, 8, 12);
		quarter_round(x, 1, 5, 9, 13);
		quarter_round(x, 2, 6, 10, 14);
		quarter_round(x, 3, 7, 11, 15);
		quarter_round(x, 0, 5, 10, 15);
		quarter_round(x, 1, 6, 11, 12);
		quarter_round(x, 2, 7, 8, 13);
		quarter_round(x, 3, 4, 9, 14);
	}
	for (at = 0; at < CHACHA_WORDS; at++)
		random->words[at] = x[at] + input[at];
	random->block++;
	random->used = 0;
}

static inline u64 random_bits(struct chacha *random)
{
	u64 bits;

	if (random->used == CHACHA_WORDS)
		chacha_block(random);
	bits = random->words[random->used] | (u64)random->words[random->used + 1] << 32;
	random->used += 2;
	return bits;
}

static inline void chacha_init(struct chacha *random, const u8 *tables)
{
	u32 at;

	for (at = 0; at < 8; at++)
		random->key[at] = disk_le32(tables + 4 * at);
	random->stream[0] = disk_le32(tables + 32);
	random->stream[1] = disk_le32(tables + 36);
	random->used = CHACHA_WORDS;
}

#endif
