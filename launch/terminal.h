// SPDX-License-Identifier: Apache-2.0
//
// mpiexec's terminal, and the pseudo terminals that ranks get in its place, so that a program's
// prompts and progress appear when they are written. Only one of the two may edit lines and echo:
// rank 0's, whose settings the program may change as it likes. mpiexec's passes every key
// meanwhile, but those that send signals, which go to mpiexec as ever. Line ends are turned by
// mpiexec's alone, because other ranks write to it through pipes.
#pragma once

#include <termios.h>

#include <optional>

namespace weft::launch {

/// The settings of the terminal on mpiexec's standard input, if it is one.
class TerminalSettings {
 public:
  TerminalSettings();
  bool known() const { return known_; }
  const termios& get() const { return settings_; }
  /// Put them back, unless the terminal is another job's now.
  void restore() const;

 private:
  bool known_ = false;
  termios settings_{};
};

/// Is the terminal on mpiexec's standard input another job's now? A read would fail.
bool is_in_background();

struct Pty {
  int ours, ranks;  // descriptors
};

class Terminal {
 public:
  Terminal();

  /// A terminal for a rank. Nothing: the system has none to give.
  std::optional<Pty> open() const;
  /// A rank's gets the size that mpiexec's has now.
  void resize(int ours) const;

  /// Let mpiexec's pass every key, if it is mpiexec's now. Again and again: it may become so at any
  /// time, and nobody tells.
  void take();
  /// As it was found.
  void give_back();
  /// The user stops the job (the supervisor has given the terminal back), or it continues.
  void stop() { stopped_ = true; }
  void go_on();

 private:
  int own_ = -1;  // a descriptor of mpiexec's terminal
  TerminalSettings found_;
  bool taken_ = false;
  bool stopped_ = false;
};

}  // namespace weft::launch
