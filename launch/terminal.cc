// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weft::launch {

bool is_in_background() {
  const pid_t foreground = tcgetpgrp(0);  // fails where the terminal controls nobody's jobs
  return foreground >= 0 && foreground != getpgrp();
}

TerminalSettings::TerminalSettings() {
  known_ = tcgetattr(0, &settings_) == 0;
}

void TerminalSettings::restore() const {
  termios now{};
  if (!known_ || is_in_background() || tcgetattr(0, &now) != 0) return;
  if (memcmp(&now, &settings_, sizeof now) != 0) tcsetattr(0, TCSANOW, &settings_);
}

Terminal::Terminal() {
  for (int fd = 2; fd >= 0; --fd)
    if (isatty(fd) == 1) own_ = fd;
}

std::optional<Pty> Terminal::open() const {
  const int ours = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (ours < 0) return {};
  char name[64];
  const bool ready =
      grantpt(ours) == 0 && unlockpt(ours) == 0 && ptsname_r(ours, name, sizeof name) == 0;
  const int ranks = ready ? ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
  termios settings{};
  if (ranks < 0 || tcgetattr(own_, &settings) != 0) {
    close(ours);
    if (ranks >= 0) close(ranks);
    return {};
  }
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  tcsetattr(ranks, TCSANOW, &settings);
  resize(ours);
  return Pty{ours, ranks};
}

void Terminal::resize(int ours) const {
  winsize size{};
  if (ioctl(own_, TIOCGWINSZ, &size) == 0) ioctl(ours, TIOCSWINSZ, &size);
}

void Terminal::take() {
  if (taken_ || stopped_ || !found_.known() || is_in_background()) return;
  termios settings = found_.get();
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ECHONL | IEXTEN);
  settings.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  taken_ = tcsetattr(0, TCSANOW, &settings) == 0;
}

void Terminal::give_back() {
  if (taken_) found_.restore();
  taken_ = false;
}

// A shell has had the terminal meanwhile.
void Terminal::go_on() {
  stopped_ = taken_ = false;
}

}  // namespace weft::launch
