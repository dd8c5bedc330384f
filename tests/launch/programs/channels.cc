// SPDX-License-Identifier: Apache-2.0
// Channels with types and spans: numbers, structures, a wrong length, an error of MPI.
#include <array>
#include <cstdio>
#include <weft/channel.hpp>

struct Point {
  int name;
  std::array<float, 20> at;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    weft::channel<double> numbers(MPI_COMM_WORLD,
                                  {.length = 3, .asynchrony = 2, .senders = {0}, .receivers = {1}});
    weft::channel<Point> points(MPI_COMM_WORLD, {.length = 1,
                                                 .asynchrony = 1,
                                                 .senders = {1},
                                                 .receivers = {0},
                                                 .on_demand = true,
                                                 .threads = "couriers"});
    if (rank == 0) {
      const std::array<double, 3> some = {1, 2, 3};
      numbers.send(some);
      const std::span<double> place = numbers.reserve();
      place[0] = place[1] = place[2] = 7;
      numbers.commit(place);
      try {
        numbers.send(std::span(some).first(2));
      } catch (const std::length_error& error) {
        std::puts(error.what());
      }
      numbers.close();
      try {
        numbers.send(some);
      } catch (const weft::channel_error& error) {
        std::printf("%d\n", error.code());
      }
      const auto point = points.receive();
      std::printf("%d from %d at %g\n", point[0].name, point.source(), point[0].at[19]);
    } else if (rank == 1) {
      double sum = 0;
      for (auto message = numbers.receive(); message; message = numbers.receive())
        for (const double number : message.data()) sum += number;
      Point point{.name = 5, .at = {}};
      point.at[19] = static_cast<float>(sum);
      WEFT_Channel_request request = points.send_delegated({&point, 1});
      points.wait(request);
    }
  }
  MPI_Finalize();
}
