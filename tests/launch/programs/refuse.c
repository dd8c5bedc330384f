// SPDX-License-Identifier: Apache-2.0
// refuse ERROR CALL[,CALL...] COMMAND...: runs the command while the kernel refuses these system
// calls with EPERM or ENOSYS, as containers and sandboxes do. A call is a name of the table below
// or a number.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) \
  { #name, SYS_##name }
static const struct {
  const char* name;
  long number;
} calls[] = {
    CALL(brk),
    CALL(clock_nanosleep),
    CALL(clone),
    CALL(clone3),
    CALL(close),
    CALL(dup2),
    CALL(dup3),
    CALL(eventfd2),
    CALL(execve),
    CALL(faccessat),
    CALL(faccessat2),
    CALL(fcntl),
    CALL(fork),
    CALL(fstat),
    CALL(ftruncate),
    CALL(futex),
    CALL(get_mempolicy),
    CALL(getcpu),
    CALL(getcwd),
    CALL(getdents64),
    CALL(getpgrp),
    CALL(getpid),
    CALL(getppid),
    CALL(getrandom),
    CALL(getrusage),
    CALL(gettid),
    CALL(ioctl),
    CALL(kill),
    CALL(lseek),
    CALL(madvise),
    CALL(mbind),
    CALL(membarrier),
    CALL(memfd_create),
    CALL(mprotect),
    CALL(mremap),
    CALL(nanosleep),
    CALL(openat),
    CALL(personality),
    CALL(pidfd_open),
    CALL(pipe2),
    CALL(poll),
    CALL(ppoll),
    CALL(prctl),
    CALL(pread64),
    CALL(prlimit64),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(pwrite64),
    CALL(readlink),
    CALL(readlinkat),
    CALL(rseq),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait),
    CALL(sched_getaffinity),
    CALL(sched_setaffinity),
    CALL(sched_yield),
    CALL(sendto),
    CALL(set_robust_list),
    CALL(set_tid_address),
    CALL(setpgid),
    CALL(setsid),
    CALL(sigaltstack),
    CALL(signalfd4),
    CALL(statx),
    CALL(sysinfo),
    CALL(tgkill),
    CALL(umask),
    CALL(uname),
    CALL(unshare),
    CALL(vfork),
    CALL(wait4),
    CALL(waitid),
};

static long number_of(const char* word) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
    if (strcmp(calls[i].name, word) == 0) return calls[i].number;
  char* end;
  const long number = strtol(word, &end, 10);
  if (end == word || *end != 0) {
    fprintf(stderr, "refuse: no system call %s\n", word);
    exit(2);
  }
  return number;
}

enum { most = 100 };

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int error = strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
  struct sock_filter code[2 * most + 2];
  int n = 0;
  code[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  char* rest = argv[2];
  for (char* word; n < 2 * most && (word = strsep(&rest, ",")) != NULL;) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(word), 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("refuse: seccomp");
    return 77;
  }
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 127;
}
