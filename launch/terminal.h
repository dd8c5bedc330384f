// SPDX-License-Identifier: Apache-2.0
//
// mpiexec's terminal, and the pseudo terminals that ranks get in its place, so that a program's
// prompts and progress appear when they are written. Only one of the two may edit lines, echo and
// turn line ends: that is mpiexec's own, which keeps its settings; the ranks' pass bytes. When rank
// 0 wants every key (readline, curses), mpiexec's follows until it does so no longer. Keys that
// send signals always send them to mpiexec.
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
  std::optional<Pty> open();
  /// A rank's gets the size that mpiexec's has now.
  void resize(int ours) const;
  /// Rank 0 may have changed the settings of its terminal, whose side of ours this is.
  void follow(int ours);
  bool follows() const { return follows_; }
  /// mpiexec's as it was found.
  void restore();
  /// Somebody else may have changed mpiexec's settings (a shell, while the job was stopped).
  void forget() { follows_ = false; }

 private:
  int own_ = -1;  // a descriptor of mpiexec's terminal
  TerminalSettings found_;
  bool follows_ = false;
};

}  // namespace weft::launch
