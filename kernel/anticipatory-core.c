// SPDX-License-Identifier: GPL-2.0
/*
 * The core of anticipatory-iosched.ko in one unit: an object file of its own for core/antic.c would belong to two modules, which
 * kbuild warns of.
 */
#include "core/antic.c"
#include "core/anticipatory.c"
