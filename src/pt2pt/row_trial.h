// SPDX-License-Identifier: Apache-2.0
//
// Where long pieces go of which a peer reads one after the other and answers none: into own
// fragments in turn, or into the peer's ring. Fragments together do not fit a private cache, so
// their lines have left the reader's; the ring fits one, so the cache that all share keeps more of
// the messages' own data. Which is faster depends on the processor and on who else uses that cache,
// so both are timed: now and then some pieces in a row go where the others do not.
//
// Here is no clock. Guarded by the context's lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pt2pt/limits.h"

namespace weft::pt2pt {

class RowTrial {
 public:
  enum Place : int { fragments, ring };

  /// Of the next piece.
  Place place() const { return looks_ ? other() : taken_; }
  /// What a line takes its writer there, of late: ns; 0: not known.
  double line_ns(Place place) const { return line_ns_[place]; }

  /// A piece is about to be written at place(); true: time it, and say what a line took.
  bool count(bool is_far) {
    ++pieces_;
    if (looks_) return pieces_ > look_pieces / 2;  // it met what the other place had left
    return pieces_ % (is_far ? far_looks : near_looks) == 0;
  }
  /// `far_ns`: the peer is far from there on. Of the last piece that was counted.
  void took(double line_ns, double far_ns) {
    // What an interrupt takes says nothing.
    const double ns = std::min(line_ns, 2 * far_ns);
    double& known = line_ns_[place()];
    known += (known == 0 ? 1 : newest_cold_line) * (ns - known);
    if (place() == ring && known > far_ns) end_look(fragments), line_ns_[fragments] = known;
  }
  /// After a piece. Looks begin and end here; none if the peer is far.
  void next(bool is_far) {
    if (pieces_ < look_pieces) return;
    if (looks_)
      end_look(line_ns_[other()] < faster_place * line_ns_[taken_] ? other() : taken_);
    else if (!is_far && (pieces_ >= pieces_between_looks || line_ns_[taken_] > dear_ns_))
      looks_ = true, line_ns_[other()] = 0, pieces_ = 0;
  }

 private:
  Place other() const { return taken_ == fragments ? ring : fragments; }
  void end_look(Place place) {
    taken_ = place;
    looks_ = false;
    pieces_ = 0;
    dear_ns_ = changed_line * line_ns_[taken_];
  }

  Place taken_ = fragments;
  bool looks_ = false;
  std::uint32_t pieces_ = 0;
  double line_ns_[2] = {};
  double dear_ns_ = 0;  // more than this for a line: look again
};

}  // namespace weft::pt2pt
