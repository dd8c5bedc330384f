// SPDX-License-Identifier: Apache-2.0
// Symbols that ld.so would make unique in the whole process.
template <class T>
struct Counter {
  static int value;
};
template <class T>
int Counter<T>::value = 1;
inline int& inline_static() {
  static int x = 2;
  return x;
}
int count(int r) {
  return Counter<int>::value += r;
}
int count_inline(int r) {
  return inline_static() += r;
}
