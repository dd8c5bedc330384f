// SPDX-License-Identifier: Apache-2.0
// Random trees of constructors. The test keeps its own list of (place, width) for each tree;
// packing, unpacking, the bounds and a message must agree with that list. Too large and empty trees
// are left out. The seed is fixed, so a failure comes again.
#include "../check.h"

enum { most = 20000, depth_most = 4, trees = 150, arm = 200000 };

// The oracle: where the basic items lie, in type map order, and the bounds.
typedef struct {
  int n;
  long low, high;
  int fixed;  // bounds were set by resized somewhere
  int* at;
  signed char* width;
} Map;

static unsigned state = 12345;
static int draw(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)below);
}

static Map map_new(void) {
  return (Map){0, 0, 0, 0, alloc(sizeof(int) * most), alloc(most)};
}
static void map_free(Map* map) {
  free(map->at);
  free(map->width);
}

// Adds `length` copies of `part` at displacement `place` bytes.
static int map_add(Map* to, const Map* part, int length, long place, int* first) {
  const long extent = part->high - part->low;
  if (to->n + length * part->n > most) return 0;
  for (int k = 0; k < length; ++k) {
    const long shift = place + k * extent, low = part->low + shift, high = part->high + shift;
    if (*first || low < to->low) to->low = low;
    if (*first || high > to->high) to->high = high;
    *first = 0;
    for (int i = 0; i < part->n; ++i) {
      to->at[to->n] = (int)(part->at[i] + shift);
      to->width[to->n++] = part->width[i];
    }
  }
  return 1;
}

static MPI_Datatype leaf(Map* map) {
  static const struct {
    int width;
    MPI_Datatype type;
  } basic[] = {{1, MPI_CHAR},   {2, MPI_SHORT}, {4, MPI_INT},
               {8, MPI_DOUBLE}, {4, MPI_FLOAT}, {8, MPI_LONG}};
  const int which = draw(6);
  MPI_Datatype type;
  map->n = 1;
  map->at[0] = 0;
  map->width[0] = (signed char)basic[which].width;
  map->low = 0;
  map->high = basic[which].width;
  OK(MPI_Type_dup(basic[which].type, &type));
  return type;
}

static MPI_Datatype tree(int depth, Map* map) {
  if (depth == 0) return leaf(map);
  Map inner = map_new();
  MPI_Datatype old = tree(depth - 1, &inner), type = MPI_DATATYPE_NULL;
  if (old == MPI_DATATYPE_NULL) {
    map_free(&inner);
    return old;
  }
  const long extent = inner.high - inner.low;
  int lengths[6], places[6], first = 1, fits = 1;
  MPI_Aint bytes[6];
  MPI_Datatype types[6];
  const int count = 1 + draw(5), length = 1 + draw(3), stride = draw(9) - 4;
  *map = (Map){0, 0, 0, 0, map->at, map->width};
  switch (draw(8)) {
    case 0:
      fits = map_add(map, &inner, count, 0, &first);
      OK(MPI_Type_contiguous(count, old, &type));
      break;
    case 1:
      for (int i = 0; i < count && fits; ++i)
        fits = map_add(map, &inner, length, i * stride * extent, &first);
      OK(MPI_Type_vector(count, length, stride, old, &type));
      break;
    case 2:
      for (int i = 0; i < count && fits; ++i)
        fits = map_add(map, &inner, length, i * (stride * 24L), &first);
      OK(MPI_Type_create_hvector(count, length, stride * 24, old, &type));
      break;
    case 3:
    case 4:
      for (int i = 0; i < count && fits; ++i) {
        lengths[i] = draw(4);
        places[i] = draw(20) - 8;
        fits = map_add(map, &inner, lengths[i], places[i] * extent, &first);
      }
      OK(MPI_Type_indexed(count, lengths, places, old, &type));
      break;
    case 5:
      for (int i = 0; i < count && fits; ++i) {
        places[i] = draw(20) - 8;
        fits = map_add(map, &inner, length, places[i] * extent, &first);
      }
      OK(MPI_Type_create_indexed_block(count, length, places, old, &type));
      break;
    case 6:
      // All of one type: the alignment padding of a struct stays out of the oracle when the extent
      // is a multiple of 8.
      for (int i = 0; i < count && fits; ++i) {
        lengths[i] = 1 + draw(2);
        bytes[i] = (draw(40) - 15) * 8;
        types[i] = old;
        fits = map_add(map, &inner, lengths[i], bytes[i], &first);
      }
      OK(MPI_Type_create_struct(count, lengths, bytes, types, &type));
      {
        MPI_Datatype padded = type;
        OK(MPI_Type_create_resized(padded, map->low, map->high - map->low, &type));
        OK(MPI_Type_free(&padded));
      }
      break;
    default: {
      const int low = draw(30) - 10, wide = (int)extent + draw(30);
      fits = map_add(map, &inner, 1, 0, &first);
      map->low = low;
      map->high = low + wide;
      OK(MPI_Type_create_resized(old, low, wide, &type));
    }
  }
  OK(MPI_Type_free(&old));
  map_free(&inner);
  if (!fits || map->n == 0) {  // the standard leaves the bounds of empty types to interpretation
    OK(MPI_Type_free(&type));
    return MPI_DATATYPE_NULL;
  }
  return type;
}

// 2: beyond the room of the test's buffer; 1: some bytes lie over each other; 0: neither.
static int overlapping(const Map* map, int count, char* used, long room, long base) {
  const long extent = map->high - map->low;
  int overlap = 0;
  memset(used, 0, (size_t)room);
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < map->n; ++i) {
      const long at = base + map->at[i] + k * extent;
      if (at < 0 || at + map->width[i] > room) return 2;
      for (int b = 0; b < map->width[i]; ++b) {
        if (used[at + b]) overlap = 1;
        used[at + b] = 1;
      }
    }
  }
  return overlap;
}

static void verify(int number, MPI_Datatype type, const Map* map, unsigned char* data,
                   unsigned char* back, char* used) {
  const int count = 1 + number % 3;
  const long room = 2L * arm, base = arm, extent = map->high - map->low;
  MPI_Aint low, got_extent;
  int bytes = 0, want = 0, position = 0, packed_room = 0, wrong = 0;
  for (int i = 0; i < map->n; ++i) want += map->width[i];
  OK(MPI_Type_size(type, &bytes));
  CHECK(bytes == want, "tree %d: size %d, expected %d", number, bytes, want);
  OK(MPI_Type_get_extent(type, &low, &got_extent));
  CHECK(low == map->low && got_extent == extent, "tree %d: bounds %ld + %ld, expected %ld + %ld",
        number, (long)low, (long)got_extent, map->low, extent);
  const int overlap = overlapping(map, count, used, room, base);
  if (overlap == 2) return;  // too wide for the test's buffer
  fill(data, (size_t)room, (unsigned)number);
  OK(MPI_Pack_size(count, type, MPI_COMM_WORLD, &packed_room));
  CHECK(packed_room >= count * want, "tree %d: Pack_size %d for %d bytes", number, packed_room,
        count * want);
  unsigned char* packed = alloc((size_t)packed_room + 8);
  OK(MPI_Pack(data + base, count, type, packed, packed_room, &position, MPI_COMM_WORLD));
  EQ(position, count * want);
  long k = 0;
  for (int c = 0; c < count; ++c) {
    for (int i = 0; i < map->n; ++i) {
      const long at = base + map->at[i] + c * extent;
      for (int b = 0; b < map->width[i]; ++b) wrong += packed[k++] != data[at + b];
    }
  }
  CHECK(wrong == 0, "tree %d: %d of %ld packed bytes are wrong", number, wrong, k);
  if (!overlap) {  // a receive may not have overlaps
    MPI_Status status;
    memset(back, 0xa5, (size_t)room);
    position = 0;
    OK(MPI_Unpack(packed, count * want, &position, back + base, count, type, MPI_COMM_WORLD));
    EQ(position, count * want);
    for (long i = 0; i < room; ++i) wrong += back[i] != (used[i] ? data[i] : 0xa5);
    CHECK(wrong == 0, "tree %d: %d bytes wrong after Unpack", number, wrong);
    memset(back, 0xa5, (size_t)room);
    OK(MPI_Sendrecv(data + base, count, type, right_of(rank), 1, back + base, count, type,
                    left_of(rank), 1, MPI_COMM_WORLD, &status));
    int got = 0, elements = 0;
    OK(MPI_Get_count(&status, type, &got));
    EQ(got, want ? count : 0);
    OK(MPI_Get_elements(&status, type, &elements));
    EQ(elements, map->n * count);
    for (long i = 0; i < room; ++i) wrong += back[i] != (used[i] ? data[i] : 0xa5);
    CHECK(wrong == 0, "tree %d: %d bytes wrong after a message", number, wrong);
  }
  free(packed);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  unsigned char *data = alloc(2 * arm), *back = alloc(2 * arm);
  char* used = alloc(2 * arm);
  for (int number = 0; number < trees; ++number) {
    Map map = map_new();
    MPI_Datatype type = tree(1 + number % depth_most, &map);
    if (type != MPI_DATATYPE_NULL) {
      OK(MPI_Type_commit(&type));
      verify(number, type, &map, data, back, used);
      OK(MPI_Type_free(&type));
    }
    map_free(&map);
  }
  free(data);
  free(back);
  free(used);
  return finish();
}
