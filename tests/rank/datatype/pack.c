// SPDX-License-Identifier: Apache-2.0
// Pack and Unpack: several items behind each other, sent as MPI_PACKED and received typed and the
// reverse, and the external32 representation (big endian, fixed sizes).
#include "../check.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  char room[1000];
  int position = 0, n = 42, out[6] = {1, 2, 3, 4, 5, 6}, in[6] = {0}, bytes = 0;
  double d = 2.75;
  MPI_Datatype every_second;
  MPI_Status status;
  MPI_Request request;
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second));
  OK(MPI_Type_commit(&every_second));
  OK(MPI_Pack(&n, 1, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD));
  OK(MPI_Pack(&d, 1, MPI_DOUBLE, room, sizeof room, &position, MPI_COMM_WORLD));
  OK(MPI_Pack(out, 1, every_second, room, sizeof room, &position, MPI_COMM_WORLD));
  OK(MPI_Pack("warp", 4, MPI_CHAR, room, sizeof room, &position, MPI_COMM_WORLD));
  bytes = position;
  CHECK(bytes >= 28, "28 bytes were packed into %d", bytes);
  char got[1000], text[5] = "";
  int got_n = 0;
  double got_d = 0;
  OK(MPI_Irecv(got, sizeof got, MPI_PACKED, left_of(rank), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Send(room, bytes, MPI_PACKED, right_of(rank), 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_PACKED, &bytes));
  position = 0;
  OK(MPI_Unpack(got, bytes, &position, &got_n, 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack(got, bytes, &position, &got_d, 1, MPI_DOUBLE, MPI_COMM_WORLD));
  OK(MPI_Unpack(got, bytes, &position, in, 3, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack(got, bytes, &position, text, 4, MPI_CHAR, MPI_COMM_WORLD));
  EQ(position, bytes);
  EQ(got_n, 42);
  CHECK(got_d == 2.75, "the double is %g", got_d);
  EQ(in[0], 1);
  EQ(in[1], 3);
  EQ(in[2], 5);
  CHECK(strcmp(text, "warp") == 0, "the text is '%s'", text);
  // Sent typed, received packed; sent packed, received typed.
  OK(MPI_Irecv(got, sizeof got, MPI_PACKED, left_of(rank), 2, MPI_COMM_WORLD, &request));
  OK(MPI_Send(out, 6, MPI_INT, right_of(rank), 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_PACKED, &bytes));
  memset(in, 0, sizeof in);
  position = 0;
  OK(MPI_Unpack(got, bytes, &position, in, 6, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < 6; ++i) EQ(in[i], i + 1);
  position = 0;
  OK(MPI_Pack(out, 6, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD));
  memset(in, 0, sizeof in);
  OK(MPI_Irecv(in, 6, MPI_INT, left_of(rank), 3, MPI_COMM_WORLD, &request));
  OK(MPI_Send(room, position, MPI_PACKED, right_of(rank), 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  for (int i = 0; i < 6; ++i) EQ(in[i], i + 1);
  // Large-count forms.
  MPI_Count position_c = 0, size_c = 0;
  OK(MPI_Pack_size_c(6, MPI_INT, MPI_COMM_WORLD, &size_c));
  CHECK(size_c >= 24, "Pack_size_c of 6 ints is %lld", (long long)size_c);
  OK(MPI_Pack_c(out, 6, MPI_INT, room, sizeof room, &position_c, MPI_COMM_WORLD));
  memset(in, 0, sizeof in);
  size_c = position_c;
  position_c = 0;
  OK(MPI_Unpack_c(room, size_c, &position_c, in, 6, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < 6; ++i) EQ(in[i], i + 1);
  // external32.
  MPI_Aint at = 0, external = 0;
  const int value = 0x01020304;
  const double one = 1.0;
  OK(MPI_Pack_external_size("external32", 1, MPI_DOUBLE, &external));
  EQ(external, 8);
  OK(MPI_Pack_external_size("external32", 3, MPI_LONG, &external));
  CHECK(external == 24 || external == 12, "external32 of 3 longs takes %ld bytes", (long)external);
  OK(MPI_Pack_external("external32", &value, 1, MPI_INT, room, sizeof room, &at));
  EQ(at, 4);
  CHECK(room[0] == 1 && room[1] == 2 && room[2] == 3 && room[3] == 4,
        "external32 of 0x01020304 is %02x%02x%02x%02x", room[0], room[1], room[2], room[3]);
  OK(MPI_Pack_external("external32", &one, 1, MPI_DOUBLE, room, sizeof room, &at));
  EQ(at, 12);
  CHECK((unsigned char)room[4] == 0x3f && (unsigned char)room[5] == 0xf0 && room[11] == 0,
        "external32 of 1.0 begins %02x%02x", room[4] & 255, room[5] & 255);
  int back = 0;
  double back_d = 0;
  at = 0;
  OK(MPI_Unpack_external("external32", room, 12, &at, &back, 1, MPI_INT));
  OK(MPI_Unpack_external("external32", room, 12, &at, &back_d, 1, MPI_DOUBLE));
  EQ(back, value);
  CHECK(back_d == 1.0, "the double came back as %g", back_d);
  OK(MPI_Type_free(&every_second));
  return finish();
}
