/* SPDX-License-Identifier: Apache-2.0 */
/* How long it takes to post a row of short one-sided operations to many peers (figure 11 and table
   1 of Si, Pena, Balaji, Takagi, Ishikawa, MT-MPI, ICS'14). Rank 0 puts 64 bytes, so many times, to
   the ranks of the other half of MPI_COMM_WORLD in turn, and flushes; the others wait in
   MPI_Barrier. Ways:

     idle      one thread puts in an OpenMP master region, while the others are idle at the barrier
               behind it (MPI_THREAD_FUNNELED): the paper's
     threads   each of the threads puts its share, in a window over a communicator of its own
               (MPI_THREAD_MULTIPLE)
     sends     as idle, by messages: persistent sends that MPI_Startall begins, in rows of 16 to
   each peer, which receives them and answers at the end

   Two rows for each number of puts, which stands in place of bytes: `total` until all is in the
   targets' memory, `posting` in the calls of MPI_Put or MPI_Startall alone, of the
   thread that took longest. The targets compare what has come: "late" is what came after the flush
   and a barrier, in all batches. Other "counts" are rank 0's, of all puts together (weft).

     main -w idle|threads [-n threads] [-b batches] [-l seconds] [-o puts,puts]

   A row is dropped when the one before took longer than -l for all its batches. */
#include "../pvars.h"
#include "../rows.h"

#include <omp.h>

enum {
  put_bytes = 64,
  put_words = put_bytes / 8,
  most_posters = 64,
  most_puts = 1 << 20,
  most_rows = 16,
  sends_in_row = 16 /* to each peer */
};

static const char* const counted[] = {"rma_away", "rma_messages", "jobs_offered", "chunks_offered",
                                      "chunks_given"};
enum { pvars = sizeof counted / sizeof counted[0] };

/* A thread that puts: its share, and where it goes. */
struct poster {
  MPI_Comm comm;
  MPI_Win win;
  uint64_t* memory; /* of the window: a line for each put of this rank */
  uint64_t* data;
  double posting_s;
};

static struct {
  int rank, size, first; /* of the peers */
  int posters, threads, by_sends;
  MPI_Request* row; /* sends_in_row to each peer, in turn */
  struct poster poster[most_posters];
} job;

static int peers(void) {
  return job.size - job.first;
}

/* Puts of all `puts` that poster `at` makes. */
static long share_of(int at, long puts) {
  return puts / job.posters + (at < puts % job.posters ? 1 : 0);
}

/* Of these, to a peer. */
static long share_to(int peer, long share) {
  return share / peers() + (peer < share % peers() ? 1 : 0);
}

static void open_poster(struct poster* p, long most) {
  const long lines = share_to(0, most);
  MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
  MPI_Win_allocate(lines * put_bytes, 1, MPI_INFO_NULL, p->comm, &p->memory, &p->win);
  memset(p->memory, 0, (size_t)lines * put_bytes);
  p->data = allocate((size_t)(most + sends_in_row * peers()) * put_bytes);
  MPI_Barrier(p->comm);
  MPI_Win_lock_all(0, p->win);
}

static void close_poster(struct poster* p) {
  MPI_Win_unlock_all(p->win);
  MPI_Win_free(&p->win);
  MPI_Comm_free(&p->comm);
  free(p->data);
}

static void post(struct poster* p, long puts) {
  const double start = MPI_Wtime();
  int peer = 0;
  MPI_Aint at = 0;
  for (long i = 0; i < puts; ++i) {
    MPI_Put(p->data + i * put_words, put_bytes, MPI_BYTE, job.first + peer, at, put_bytes, MPI_BYTE,
            p->win);
    if (++peer < peers()) continue;
    peer = 0;
    at += put_bytes;
  }
  p->posting_s = MPI_Wtime() - start;
  MPI_Win_flush_all(p->win);
}

static void open_row(struct poster* p) {
  const int n = sends_in_row * peers();
  job.row = allocate((size_t)n * sizeof *job.row);
  for (int i = 0; i < n; ++i)
    MPI_Send_init(p->data + i * put_words, put_bytes, MPI_BYTE, job.first + i % peers(), 0, p->comm,
                  &job.row[i]);
}

static void close_row(void) {
  for (int i = 0; i < sends_in_row * peers(); ++i) MPI_Request_free(&job.row[i]);
  free(job.row);
}

static void send_rows(struct poster* p, long puts) {
  const long most = sends_in_row * peers();
  char answer;
  p->posting_s = 0;
  for (long done = 0; done < puts; done += most) {
    const int n = (int)(puts - done < most ? puts - done : most);
    const double start = MPI_Wtime();
    MPI_Startall(n, job.row);
    p->posting_s += MPI_Wtime() - start;
    MPI_Waitall(n, job.row, MPI_STATUSES_IGNORE);
  }
  for (int peer = job.first; peer < job.size; ++peer)
    MPI_Recv(&answer, 1, MPI_BYTE, peer, 0, p->comm, MPI_STATUS_IGNORE);
}

/* By a peer. */
static void receive_rows(struct poster* p, long puts) {
  const char answer = 0;
  for (long k = 0; k < share_to(job.rank - job.first, puts); ++k)
    MPI_Recv(p->memory + k * put_words, put_bytes, MPI_BYTE, 0, 0, p->comm, MPI_STATUS_IGNORE);
  MPI_Send(&answer, 1, MPI_BYTE, 0, 0, p->comm);
}

/* Seconds until all puts of rank 0 are done. */
static double batch(long puts, uint64_t stamp) {
  for (int i = 0; i < job.posters; ++i)
    for (long k = share_of(i, puts) + sends_in_row * peers(); k-- > 0;)
      stamp_lines(job.poster[i].data + k * put_words, put_words, stamp);
  const double start = MPI_Wtime();
#pragma omp parallel num_threads(job.threads)
  {
    if (job.posters > 1) {
      const int me = omp_get_thread_num();
      post(&job.poster[me], share_of(me, puts));
    } else {
#pragma omp master
      (job.by_sends ? send_rows : post)(&job.poster[0], puts);
    }
  }
  return MPI_Wtime() - start;
}

static double longest_posting(void) {
  double longest = 0;
  for (int i = 0; i < job.posters; ++i)
    if (job.poster[i].posting_s > longest) longest = job.poster[i].posting_s;
  return longest;
}

/* Lines that have not come to this rank. */
static long missing(long puts, uint64_t stamp) {
  long wrong = 0;
  if (job.rank < job.first) return 0;
  for (int i = 0; i < job.posters; ++i) {
    const long lines = share_to(job.rank - job.first, share_of(i, puts));
    MPI_Win_sync(job.poster[i].win);
    for (long k = 0; k < lines; ++k)
      wrong += wrong_lines(job.poster[i].memory + k * put_words, put_words, stamp) > 0;
  }
  return wrong;
}

/* The same, once they have had a second more: a library may let its flush return before that. */
static long missing_later(long puts, uint64_t stamp) {
  const double start = MPI_Wtime();
  long wrong;
  int there;
  do {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    wrong = missing(puts, stamp);
  } while (wrong > 0 && MPI_Wtime() - start < 1);
  return wrong;
}

static void print_row(const char* way, const char* what, long puts, const double* us, int batches,
                      long errors) {
  printf("{\"row\": \"%s %dt %s\", \"ranks\": %d, \"bytes\": %ld, \"errors\": %ld, \"us\": ", way,
         job.threads, what, job.size, puts, errors);
  print_list(us, batches);
}

/* All batches of so many puts; seconds that they took. */
static double measure_puts(const char* way, long puts, int batches, const struct pvars* vars) {
  static uint64_t stamp;
  double total[max_batches], posting[max_batches], before[most_pvars], after[most_pvars];
  long wrong = 0, late = 0, sum[2] = {0};
  const double start = MPI_Wtime();
  for (int i = -1; i < batches; ++i) { /* the first is not counted: it connects */
    MPI_Barrier(MPI_COMM_WORLD);
    if (i == 0) read_pvars(vars, before);
    ++stamp;
    const double seconds = job.rank == 0 ? batch(puts, stamp) : 0;
    if (job.by_sends && job.rank >= job.first) receive_rows(&job.poster[0], puts);
    MPI_Barrier(MPI_COMM_WORLD);
    const long now = missing(puts, stamp);
    wrong += now > 0 ? missing_later(puts, stamp) : 0;
    if (i < 0) continue;
    late += now;
    total[i] = seconds * 1e6;
    posting[i] = longest_posting() * 1e6;
  }
  read_pvars(vars, after);
  const long found[2] = {wrong, late};
  MPI_Reduce(found, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (job.rank == 0) {
    print_row(way, "total", puts, total, batches, sum[0]);
    printf(", \"counts\": {\"threads\": %d, \"late\": %ld", job.threads, sum[1]);
    for (int i = 0; i < pvars; ++i)
      if (has_pvar(vars, i)) printf(", \"%s\": %.4g", counted[i], (after[i] - before[i]) / batches);
    printf("}}\n");
    print_row(way, "posting", puts, posting, batches, sum[0]);
    printf("}\n");
    fflush(stdout);
  }
  double seconds = MPI_Wtime() - start;
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

static int read_puts(char* list, long* puts) {
  int n = 0;
  for (char* word = strtok(list, ","); word != NULL && n < most_rows; word = strtok(NULL, ","))
    puts[n++] = atol(word);
  return n;
}

int main(int argc, char** argv) {
  const char* way = "idle";
  char usual[] = "1000,2000,4000,8000,16000";
  char* list = usual;
  int batches = 11, option, provided, level;
  double limit_s = 1;
  long puts[most_rows], most = 0;
  job.threads = 1;
  while ((option = getopt(argc, argv, "w:n:b:l:o:")) != -1) {
    if (option == 'w') way = optarg;
    if (option == 'n') job.threads = atoi(optarg);
    if (option == 'b') batches = atoi(optarg);
    if (option == 'l') limit_s = atof(optarg);
    if (option == 'o') list = optarg;
  }
  const int own = strcmp(way, "threads") == 0;
  const int rows = read_puts(list, puts);
  job.posters = own ? job.threads : 1;
  job.by_sends = strcmp(way, "sends") == 0;
  level = own ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  job.first = job.size / 2;
  for (int i = 0; i < rows; ++i) most = puts[i] > most ? puts[i] : most;
  if (provided < level || job.size < 2 || job.threads < 1 || job.threads > most_posters ||
      batches < 1 || batches > max_batches || most < 1 || most > most_puts) {
    fprintf(stderr, "posting: 2 ranks, 1 to %d threads, %d batches and %d puts at most\n",
            most_posters, max_batches, most_puts);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const struct pvars vars = open_pvars(counted, pvars);
  for (int i = 0; i < job.posters; ++i) open_poster(&job.poster[i], share_of(i, most));
  if (job.by_sends && job.rank == 0) open_row(&job.poster[0]);
  for (int i = 0; i < rows; ++i)
    if (measure_puts(way, puts[i], batches, &vars) > limit_s * (batches + 1)) break;
  if (job.by_sends && job.rank == 0) close_row();
  for (int i = 0; i < job.posters; ++i) close_poster(&job.poster[i]);
  MPI_Finalize();
  return 0;
}
