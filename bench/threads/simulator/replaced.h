/* SPDX-License-Identifier: Apache-2.0
 *
 * Put before each source of the library (-include): two of the compiler's builtins that no linker
 * can replace. What the C library does in a thread's place is replaced by the linker (--wrap).
 */
#ifndef WEFT_SIMULATOR_REPLACED_H
#define WEFT_SIMULATOR_REPLACED_H
#ifdef __cplusplus
extern "C" {
#endif
void weft_simulator_pause(void);
void* weft_simulator_thread(void);
#ifdef __cplusplus
}
#endif
#define __builtin_ia32_pause weft_simulator_pause
#define __builtin_thread_pointer weft_simulator_thread
#endif
