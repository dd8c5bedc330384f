// SPDX-License-Identifier: Apache-2.0
// deny NAME... -- COMMAND: run a command whose system calls of these names fail with EPERM, as in a
// container. Exits 77 where that is not possible.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char* name;
  unsigned number;
} calls[] = {{"unshare", SYS_unshare}, {"close_range", 436}, {"pidfd_getfd", 438}};

int main(int argc, char** argv) {
  struct sock_filter code[32];
  int n = 0;
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (argv++; *argv && strcmp(*argv, "--") != 0; argv++)
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
      if (strcmp(*argv, calls[i].name) != 0) continue;
      code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
      code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  execv(argv[1], argv + 1);
  return 2;
}
