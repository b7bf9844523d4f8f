/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The cores are compiled both into kernel modules and into user-space tests. */
#ifndef SCHEDLAB_CORE_TYPES_H
#define SCHEDLAB_CORE_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#include <linux/math64.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#endif

#endif
