// SPDX-License-Identifier: Apache-2.0
// MPI_Cart_create with reorder on a declared machine of 4 packages with 8 cores each, MPI_Cart_map,
// and the communicators of the machine's parts.
#include "../check.h"

static MPI_Comm part_of(const char* resource) {
  MPI_Comm part;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", resource));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
  OK(MPI_Info_free(&info));
  return part;
}

// The number of lines of the grid whose ends are in different packages.
static int lines_between(const int* dims, const int* periods, int reorder, int package) {
  MPI_Comm grid;
  int leaving = 0, all = 0, where, now, ndims = 2;
  OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &grid));
  OK(MPI_Comm_rank(grid, &now));
  if (reorder) {  // MPI_Cart_map says where MPI_Cart_create puts this rank
    OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &where));
    EQ(now, where);
  } else {
    EQ(now, rank);
  }
  int coords[2], back;
  OK(MPI_Cart_coords(grid, now, ndims, coords));
  OK(MPI_Cart_rank(grid, coords, &back));
  EQ(back, now);
  int packages[4] = {-1, -1, -1, -1};
  OK(MPI_Neighbor_allgather(&package, 1, MPI_INT, packages, 1, MPI_INT, grid));
  for (int d = 0; d < ndims; ++d)  // upwards: each line once
    leaving += packages[2 * d + 1] >= 0 && packages[2 * d + 1] != package;
  OK(MPI_Allreduce(&leaving, &all, 1, MPI_INT, MPI_SUM, grid));
  OK(MPI_Comm_free(&grid));
  return all;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  static const int wide[] = {4, 8}, high[] = {8, 4}, open[] = {0, 0}, torus[] = {1, 1};
  MPI_Comm package = part_of("hwloc://Package"), core = part_of("hwloc://Core"), none, first;
  int n, package_number;
  OK(MPI_Comm_size(package, &n));
  EQ(n, 8);
  OK(MPI_Comm_size(core, &n));
  EQ(n, 1);
  none = part_of("hwloc://L3Cache");
  CHECK(none == MPI_COMM_NULL, "this machine has no L3 cache");
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &first));
  OK(MPI_Comm_compare(first, package, &n));
  EQ(n, MPI_CONGRUENT);
  package_number = rank;  // its first rank
  OK(MPI_Bcast(&package_number, 1, MPI_INT, 0, package));

  EQ(lines_between(wide, open, 0, package_number), 24);
  EQ(lines_between(wide, open, 1, package_number), 12);
  EQ(lines_between(high, open, 0, package_number), 12);
  EQ(lines_between(high, open, 1, package_number), 12);
  EQ(lines_between(wide, torus, 0, package_number), 32);
  EQ(lines_between(wide, torus, 1, package_number), 16);
  const int part[] = {4, 4};  // half of the ranks
  MPI_Comm grid;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, part, open, 1, &grid));
  OK(MPI_Cart_map(MPI_COMM_WORLD, 2, part, open, &n));
  EQ(grid == MPI_COMM_NULL, rank >= 16);
  EQ(n == MPI_UNDEFINED, rank >= 16);
  if (grid != MPI_COMM_NULL) OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&package));
  OK(MPI_Comm_free(&core));
  OK(MPI_Comm_free(&first));
  return finish();
}
