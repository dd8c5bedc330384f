/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest PNG writer: a palette, and the pixels in stored (uncompressed) deflate blocks. One
   block per row, each led by the row's filter byte 0. See the PNG specification, chapters 5 and 10,
   and RFC 1950/1951 for the zlib frame. */
#include "png.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t crc_of(uint32_t crc, const unsigned char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return crc;
}

static void put_u32(unsigned char* at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* A chunk may be written in pieces: begin, any number of add, end. */
struct chunk {
  FILE* file;
  uint32_t crc;
};

static void add(struct chunk* chunk, const void* data, size_t bytes) {
  chunk->crc = crc_of(chunk->crc, data, bytes);
  fwrite(data, 1, bytes, chunk->file);
}

static struct chunk begin(FILE* file, const char* name, uint32_t bytes) {
  struct chunk chunk = {file, 0xffffffffu};
  unsigned char length[4];
  put_u32(length, bytes);
  fwrite(length, 1, 4, file);
  add(&chunk, name, 4);
  return chunk;
}

static void end(struct chunk* chunk) {
  unsigned char crc[4];
  put_u32(crc, ~chunk->crc);
  fwrite(crc, 1, 4, chunk->file);
}

/* Black, violet, red, orange, yellow, white: cold to hot. */
static void palette(unsigned char rgb[256][3]) {
  static const unsigned char stops[6][3] = {{4, 4, 20},     {70, 15, 110},  {190, 40, 75},
                                            {245, 125, 20}, {250, 215, 70}, {255, 255, 240}};
  for (int i = 0; i < 256; ++i) {
    const int at = i * 5 / 256, part = i * 5 - at * 256;
    for (int c = 0; c < 3; ++c)
      rgb[i][c] = (unsigned char)((stops[at][c] * (256 - part) + stops[at + 1][c] * part) / 256);
  }
}

int png_write(const char* path, const unsigned char* pixels, int width, int height) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return -1;
  fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);

  unsigned char header[13] = {0};
  put_u32(header, (uint32_t)width);
  put_u32(header + 4, (uint32_t)height);
  header[8] = 8; /* bits per pixel */
  header[9] = 3; /* palette */
  struct chunk chunk = begin(file, "IHDR", sizeof header);
  add(&chunk, header, sizeof header);
  end(&chunk);

  unsigned char rgb[256][3];
  palette(rgb);
  chunk = begin(file, "PLTE", sizeof rgb);
  add(&chunk, rgb, sizeof rgb);
  end(&chunk);

  const uint32_t row = (uint32_t)width + 1; /* with its filter byte; at most 65535 */
  uint32_t a = 1, b = 0;                    /* Adler-32 of all rows */
  chunk = begin(file, "IDAT", 2 + (uint32_t)height * (row + 5) + 4);
  add(&chunk, "\x78\x01", 2);
  for (int y = 0; y < height; ++y) {
    const unsigned char* line = pixels + (size_t)y * (size_t)width;
    const unsigned char lead[6] = {
        y == height - 1,     (unsigned char)row,         (unsigned char)(row >> 8),
        (unsigned char)~row, (unsigned char)(~row >> 8), 0};
    add(&chunk, lead, sizeof lead);
    add(&chunk, line, (size_t)width);
    b = (b + a) % 65521; /* the filter byte */
    for (int x = 0; x < width; ++x) {
      a = (a + line[x]) % 65521;
      b = (b + a) % 65521;
    }
  }
  unsigned char adler[4];
  put_u32(adler, b << 16 | a);
  add(&chunk, adler, 4);
  end(&chunk);

  chunk = begin(file, "IEND", 0);
  end(&chunk);
  return fclose(file);
}
