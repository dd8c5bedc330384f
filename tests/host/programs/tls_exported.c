// SPDX-License-Identifier: Apache-2.0
// Exports thread-local data to a library: refused.
__thread int exported = 3;
int main(void) {
  return exported - 3;
}
