// SPDX-License-Identifier: Apache-2.0
//
// The sentence of the newest error is kept per thread: it is written on cold paths only, and a
// thread asks for it (MPI_Error_string, the fatal handler) right after the call that failed.
#include "base/err.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

struct Sentence {
  int cls;
  char text[1000];
};

// Allocated at a thread's first error, so that threads without errors pay 8 bytes.
struct Slot {
  Sentence* sentence = nullptr;
  ~Slot() { std::free(sentence); }
};
thread_local Slot slot;

}  // namespace

Err fail(int cls, const char* format, ...) {
  if (slot.sentence == nullptr)
    slot.sentence = static_cast<Sentence*>(std::malloc(sizeof(Sentence)));
  if (slot.sentence != nullptr) {
    slot.sentence->cls = cls;
    va_list args;
    va_start(args, format);
    std::vsnprintf(slot.sentence->text, sizeof slot.sentence->text, format, args);
    va_end(args);
  }
  return Err{cls};
}

const char* last_error_text(int cls) {
  if (slot.sentence == nullptr || slot.sentence->cls != cls) return nullptr;
  return slot.sentence->text;
}

ErrorsAside::ErrorsAside() : kept_(std::exchange(slot.sentence, nullptr)) {}

ErrorsAside::~ErrorsAside() {
  std::free(std::exchange(slot.sentence, static_cast<Sentence*>(kept_)));
}

}  // namespace weft
