/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PNG_H
#define PNG_H

/* Write width x height values of 0..255 as a picture in heat colours; 0 on success. The file is a
   plain PNG (palette, stored without compression), so it needs no library. */
int png_write(const char* path, const unsigned char* pixels, int width, int height);

#endif
