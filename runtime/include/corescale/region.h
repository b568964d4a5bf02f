/* SPDX-License-Identifier: Apache-2.0 (more than 300 lines: a program may copy this one file)
 *
 * A program's own region times, metrics and checks, for the lab that measures it.
 *
 *     corescale_region_begin("solve");            one region's time, per thread; regions nest and may recurse
 *     corescale_region_end("solve");
 *     corescale_metric("residual", 1e-9);         a number; the last one given counts
 *     corescale_check("converged", ok);           once false, false for good
 *     corescale_work(1000);                       units of work done; adds up
 *
 * Plain C99, valid C++, header only; needs POSIX threads and a compiler that knows `__attribute__((weak))`,
 * `__thread` and `__atomic` (GCC, Clang and what derives from them). With glibc before 2.34 link with
 * -pthread.
 *
 * If the environment variable CORESCALE_RESULT names a directory at the first call, each process with something to report writes one file
 * there when it exits: `rank-<rank>.<pid>.<start>.json`, whole or not at all. If it is unset, every call returns after one load and one
 * branch. The rank is that of Open MPI, PMI, PMIx or Slurm, else 0.
 *
 * If CORESCALE_SPANS is also set, the file says when each thread was in each region, in at most 512 spans. If there are more, those with
 * the shortest gaps between them are merged.
 *
 * Every function may be called from any thread at any time. begin and end take no lock. After a thread's first visit to a region they
 * allocate nothing, and cost two clock reads and a search over that thread's own regions.
 * `end` closes the region of that name that the calling thread opened;
 * if there is none, it does nothing. Names are copied.
 *
 * Limits. A region that is not ended before exit, or before its thread ends, is not reported. Nor is anything
 * from a process that ends by _exit, quick_exit or a signal, unless it calls corescale_write() before. A recursive visit
 * counts as a call, but its time counts only once. `thread` numbers the living threads, in the order of
 * their first region; the number of an ended thread is used again. A forked child starts from zero, and its open
 * regions start at the fork. A plug-in writes its file when it is unloaded.
 *
 * The file is written by hand, without a JSON library: this header goes into programs that have none.
 */
#ifndef CORESCALE_REGION_H
#define CORESCALE_REGION_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void corescale_region_begin(const char* name);
static inline void corescale_region_end(const char* name);
static inline void corescale_metric(const char* name, double value);
static inline void corescale_check(const char* name, int ok);
static inline void corescale_work(double units);

/* Writes the file now, as the exit will do again. 0, or -1 with a line on stderr. */
static inline int corescale_write(void);

/* ---- implementation: every name below ends in an underscore and may change ---- */

#if !defined(CLOCK_MONOTONIC) /* -std=c99 hides POSIX, which the C library nevertheless has */
#define CLOCK_MONOTONIC 1
extern int clock_gettime(int clock, struct timespec* now);
#endif
#if defined(SYS_gettid) && !defined(__cplusplus) && !defined(__USE_MISC)
extern long syscall(long number, ...);
#endif

/* A time in a region, in nanoseconds of CLOCK_MONOTONIC, and the kernel's number of the thread. */
typedef struct corescale_span_ {
  long long begin, end, thread;
} corescale_span_;

enum { corescale_most_spans_ = 512 };

typedef struct corescale_spans_ {
  int count;
  long long gap; /* two spans with at most this between them are one */
  corescale_span_ span[corescale_most_spans_];
} corescale_spans_;

typedef struct corescale_region_ {
  struct corescale_region_* next;
  long long start, nanoseconds, calls;
  corescale_spans_* spans;
  int depth;
  char name[1]; /* as long as it needs to be */
} corescale_region_;

typedef struct corescale_thread_ {
  struct corescale_thread_* next;
  corescale_region_* regions;
  long long id; /* the kernel's number */
  int number, taken;
} corescale_thread_;

typedef struct corescale_value_ {
  struct corescale_value_* next;
  double value;
  char name[1];
} corescale_value_;

enum { corescale_unknown_ = 0, corescale_off_ = 1, corescale_on_ = 2 };

typedef struct corescale_process_ {
  int mode;
  pthread_mutex_t lock; /* guards all that follows, except that threads may be walked without it */
  int (*start)(void);   /* of the object that holds this: what it registers must not outlive its code */
  char* directory;
  pthread_key_t key;
  int has_key;
  long long started; /* distinguishes processes that had the same rank and pid one after the other */
  int spans;
  corescale_thread_* threads;
  corescale_value_ *metrics, *checks;
  double work;
  int has_work;
} corescale_process_;

static inline int corescale_start_(void);

/* One object per process, however many translation units and linked libraries include this header. A plug-in
 * that is loaded with its symbols kept local has its own, and writes a file of its own. The names contain the number of the layout, so that
 * objects with different layouts share nothing. */
#define CORESCALE_SHARED_ __attribute__((weak, visibility("default")))
#define corescale_state_ corescale_state_3_
extern corescale_process_ corescale_state_;
CORESCALE_SHARED_ corescale_process_ corescale_state_ = {
    0, PTHREAD_MUTEX_INITIALIZER, corescale_start_, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 0.0, 0};
#define corescale_self_ corescale_self_3_
extern __thread corescale_thread_* corescale_self_;
CORESCALE_SHARED_ __thread corescale_thread_* corescale_self_ = NULL;

static inline long long corescale_now_(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline long long corescale_id_(void) {
#if defined(SYS_gettid)
  return syscall(SYS_gettid);
#else
  return 0;
#endif
}

/* When the place of an ended thread is taken again, the regions that it left open are closed. */
static inline void corescale_thread_ended_(void* ended) {
  corescale_thread_* thread = (corescale_thread_*)ended;
  corescale_region_* region;
  for (region = thread->regions; region; region = region->next) region->depth = 0;
  __atomic_store_n(&thread->taken, 0, __ATOMIC_RELEASE);
}

/* After fork the child has one thread and has done nothing yet. */
static inline void corescale_forked_(void) {
  corescale_thread_* thread;
  corescale_region_* region;
  for (thread = corescale_state_.threads; thread; thread = thread->next) {
    for (region = thread->regions; region; region = region->next) {
      region->calls = region->nanoseconds = 0;
      region->start = corescale_now_();
      if (region->spans) region->spans->count = 0;
      if (thread != corescale_self_) region->depth = 0;
    }
    thread->taken = thread == corescale_self_;
    if (thread->taken) thread->id = corescale_id_();
  }
  pthread_mutex_init(&corescale_state_.lock, NULL);
  corescale_state_.started = corescale_now_();
  corescale_state_.metrics = corescale_state_.checks = NULL;
  corescale_state_.work = 0;
  corescale_state_.has_work = 0;
}

/* At exit, and where the object that holds the state is unloaded, when threads that end later must no longer
 * call into it. */
static inline void corescale_at_exit_(void) {
  (void)corescale_write();
  pthread_mutex_lock(&corescale_state_.lock);
  if (corescale_state_.has_key) pthread_key_delete(corescale_state_.key);
  corescale_state_.has_key = 0;
  pthread_mutex_unlock(&corescale_state_.lock);
}

/* As strdup, which -std=c99 hides. */
static inline char* corescale_copy_(const char* text) {
  char* copy = (char*)malloc(strlen(text) + 1);
  return copy ? strcpy(copy, text) : NULL;
}

/* Runs in the object that holds the state, so that atexit counts as that object's. The directory is kept, as
 * a program may clear its environment. */
static inline int corescale_start_(void) {
  const char* directory = getenv("CORESCALE_RESULT");
  int mode;
  pthread_mutex_lock(&corescale_state_.lock);
  mode = corescale_state_.mode;
  if (mode == corescale_unknown_) {
    corescale_state_.directory = directory && *directory ? corescale_copy_(directory) : NULL;
    mode = corescale_state_.directory ? corescale_on_ : corescale_off_;
    if (mode == corescale_on_) {
      corescale_state_.started = corescale_now_();
      corescale_state_.spans = getenv("CORESCALE_SPANS") != NULL;
      corescale_state_.has_key = !pthread_key_create(&corescale_state_.key, corescale_thread_ended_);
      pthread_atfork(NULL, NULL, corescale_forked_);
      atexit(corescale_at_exit_);
    }
    __atomic_store_n(&corescale_state_.mode, mode, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&corescale_state_.lock);
  return mode == corescale_on_;
}

static inline int corescale_active_(void) {
  int mode = __atomic_load_n(&corescale_state_.mode, __ATOMIC_ACQUIRE);
  if (mode == corescale_off_) return 0;
  return mode == corescale_on_ || corescale_state_.start();
}

/* This thread's place, which may be that of an ended thread. NULL if memory is out. */
static inline corescale_thread_* corescale_thread_self_(void) {
  corescale_thread_* thread = corescale_self_;
  int number = 0;
  if (thread) return thread;
  pthread_mutex_lock(&corescale_state_.lock);
  for (thread = corescale_state_.threads; thread; thread = thread->next, ++number)
    if (!__atomic_load_n(&thread->taken, __ATOMIC_ACQUIRE)) break;
  if (!thread && (thread = (corescale_thread_*)calloc(1, sizeof *thread))) {
    corescale_thread_** end = &corescale_state_.threads;
    while (*end) end = &(*end)->next;
    thread->number = number;
    *end = thread;
  }
  if (thread) {
    thread->taken = 1;
    thread->id = corescale_id_();
  }
  if (thread && corescale_state_.has_key) pthread_setspecific(corescale_state_.key, thread);
  pthread_mutex_unlock(&corescale_state_.lock);
  return corescale_self_ = thread;
}

/* Only the owning thread adds regions; the writer at exit may read meanwhile, so the link is published last.
 */
static inline corescale_region_* corescale_region_of_(corescale_thread_* thread, const char* name, int add) {
  corescale_region_** end = &thread->regions;
  corescale_region_* region;
  for (; *end; end = &(*end)->next)
    if (strcmp((*end)->name, name) == 0) return *end;
  if (!add) return NULL;
  region = (corescale_region_*)calloc(1, sizeof *region + strlen(name));
  if (!region) return NULL;
  memcpy(region->name, name, strlen(name) + 1);
  if (corescale_state_.spans) region->spans = (corescale_spans_*)calloc(1, sizeof *region->spans);
  __atomic_store_n(end, region, __ATOMIC_RELEASE);
  return region;
}

/* The writer at exit may read meanwhile: a span that changes just then may be read too long. */
static inline void corescale_set_(long long* to, long long value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* Joins the span with the last one in the list, if that is of the same thread and ended at most `gap` before. */
static inline int corescale_joins_(corescale_spans_* spans, int count, corescale_span_ next) {
  corescale_span_* last = count ? &spans->span[count - 1] : NULL;
  if (!last || last->thread != next.thread || next.begin - last->end > spans->gap) return 0;
  corescale_set_(&last->end, next.end);
  return 1;
}

static inline void corescale_put_span_(corescale_spans_* spans, int at, corescale_span_ span) {
  corescale_set_(&spans->span[at].end, span.end);
  corescale_set_(&spans->span[at].begin, span.begin);
  corescale_set_(&spans->span[at].thread, span.thread);
}

/* Makes room: the gap grows until spans are joined. 0 if none can be, because each is of another thread. */
static inline int corescale_has_room_(corescale_spans_* spans, long long now) {
  int k, count;
  while (spans->count == corescale_most_spans_) {
    if (spans->gap > now - spans->span[0].begin) return 0;
    spans->gap = spans->gap ? 4 * spans->gap : 1000;
    for (k = count = 0; k < spans->count; ++k) {
      const corescale_span_ next = spans->span[k];
      if (!corescale_joins_(spans, count, next)) corescale_put_span_(spans, count++, next);
    }
    __atomic_store_n(&spans->count, count, __ATOMIC_RELEASE);
  }
  return 1;
}

static inline void corescale_keep_span_(const corescale_thread_* thread, corescale_region_* region,
                                        long long end) {
  corescale_spans_* spans = region->spans;
  corescale_span_ span;
  span.begin = region->start;
  span.end = end;
  span.thread = thread->id;
  if (!spans || corescale_joins_(spans, spans->count, span) || !corescale_has_room_(spans, end)) return;
  corescale_put_span_(spans, spans->count, span);
  __atomic_store_n(&spans->count, spans->count + 1, __ATOMIC_RELEASE);
}

static inline void corescale_region_begin(const char* name) {
  corescale_thread_* thread = corescale_active_() ? corescale_thread_self_() : NULL;
  corescale_region_* region = thread ? corescale_region_of_(thread, name, 1) : NULL;
  if (region && region->depth++ == 0) region->start = corescale_now_();
}

static inline void corescale_region_end(const char* name) {
  corescale_thread_* thread = corescale_active_() ? corescale_self_ : NULL;
  corescale_region_* region = thread ? corescale_region_of_(thread, name, 0) : NULL;
  long long now;
  if (!region || region->depth == 0) return;
  __atomic_store_n(&region->calls, region->calls + 1, __ATOMIC_RELAXED);
  if (--region->depth > 0) return;
  now = corescale_now_();
  __atomic_store_n(&region->nanoseconds, region->nanoseconds + now - region->start, __ATOMIC_RELAXED);
  corescale_keep_span_(thread, region, now);
}

/* The value of that name in the list; a new one is made with `initial`. Called with the lock held. */
static inline corescale_value_* corescale_value_of_(corescale_value_** list, const char* name,
                                                    double initial) {
  corescale_value_* value;
  for (; *list; list = &(*list)->next)
    if (strcmp((*list)->name, name) == 0) return *list;
  value = (corescale_value_*)calloc(1, sizeof *value + strlen(name));
  if (!value) return NULL;
  memcpy(value->name, name, strlen(name) + 1);
  value->value = initial;
  return *list = value;
}

static inline void corescale_metric(const char* name, double value) {
  corescale_value_* metric;
  if (!corescale_active_()) return;
  pthread_mutex_lock(&corescale_state_.lock);
  metric = corescale_value_of_(&corescale_state_.metrics, name, value);
  if (metric) metric->value = value;
  pthread_mutex_unlock(&corescale_state_.lock);
}

static inline void corescale_check(const char* name, int ok) {
  corescale_value_* check;
  if (!corescale_active_()) return;
  pthread_mutex_lock(&corescale_state_.lock);
  check = corescale_value_of_(&corescale_state_.checks, name, 1.0);
  if (check && !ok) check->value = 0.0;
  pthread_mutex_unlock(&corescale_state_.lock);
}

static inline void corescale_work(double units) {
  if (!corescale_active_()) return;
  pthread_mutex_lock(&corescale_state_.lock);
  corescale_state_.work += units;
  corescale_state_.has_work = 1;
  pthread_mutex_unlock(&corescale_state_.lock);
}

static inline long corescale_rank_(void) {
  static const char* const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
  size_t i;
  for (i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char* text = getenv(variables[i]);
    if (text && *text) return strtol(text, NULL, 10);
  }
  return 0;
}

static inline void corescale_put_name_(FILE* file, const char* text) {
  const unsigned char* c = (const unsigned char*)text;
  fputc('"', file);
  for (; *c; ++c) {
    if (*c < 0x20)
      fprintf(file, "\\u%04x", *c);
    else if (*c == '"' || *c == '\\')
      fprintf(file, "\\%c", *c);
    else
      fputc(*c, file);
  }
  fputc('"', file);
}

/* JSON has no NaN and no infinity: null. The program's locale may write the decimal point otherwise. */
static inline void corescale_put_number_(FILE* file, double value) {
  char text[64], *c = text;
  if (value - value != 0.0) {
    fputs("null", file);
    return;
  }
  snprintf(text, sizeof text, "%.17g", value);
  while (*c) {
    size_t plain = strspn(c, "0123456789+-e");
    fwrite(c, 1, plain, file);
    c += plain;
    if (*c) fputc('.', file);
    c += strcspn(c, "0123456789+-e");
  }
}

/* Thread, begin and end of each span, after the fields of its region. */
static inline void corescale_put_spans_(FILE* file, const corescale_spans_* spans) {
  const char* separator = "";
  int k, count = spans ? __atomic_load_n(&spans->count, __ATOMIC_ACQUIRE) : 0;
  if (!spans) return;
  fputs(",\"spans\":[", file);
  for (k = 0; k < count; ++k) {
    const corescale_span_* span = &spans->span[k];
    long long begin = __atomic_load_n(&span->begin, __ATOMIC_RELAXED);
    long long end = __atomic_load_n(&span->end, __ATOMIC_RELAXED);
    if (begin > end) continue;
    fprintf(file, "%s[%lld,%lld,%lld]", separator, __atomic_load_n(&span->thread, __ATOMIC_RELAXED), begin,
            end);
    separator = ",";
  }
  fputc(']', file);
}

static inline void corescale_put_regions_(FILE* file) {
  corescale_thread_* thread;
  corescale_region_* region;
  const char* separator = "";
  for (thread = corescale_state_.threads; thread; thread = thread->next) {
    region = __atomic_load_n(&thread->regions, __ATOMIC_ACQUIRE);
    for (; region; region = __atomic_load_n(&region->next, __ATOMIC_ACQUIRE)) {
      long long calls = __atomic_load_n(&region->calls, __ATOMIC_RELAXED);
      long long time = __atomic_load_n(&region->nanoseconds, __ATOMIC_RELAXED);
      if (calls == 0) continue;
      fprintf(file, "%s{\"name\":", separator);
      corescale_put_name_(file, region->name);
      fprintf(file, ",\"thread\":%d,\"calls\":%lld,\"seconds\":%lld.%09lld", thread->number, calls,
              time / 1000000000LL, time % 1000000000LL);
      corescale_put_spans_(file, region->spans);
      fputc('}', file);
      separator = ",";
    }
  }
}

static inline void corescale_put_values_(FILE* file, const corescale_value_* value, int truth) {
  const char* separator = "";
  for (; value; value = value->next, separator = ",") {
    fputs(separator, file);
    corescale_put_name_(file, value->name);
    fputc(':', file);
    if (truth)
      fputs(value->value != 0.0 ? "true" : "false", file);
    else
      corescale_put_number_(file, value->value);
  }
}

static inline void corescale_put_(FILE* file) {
  fprintf(file, "{\"format\":1,\"rank\":%ld,\"pid\":%ld,\"regions\":[", corescale_rank_(), (long)getpid());
  corescale_put_regions_(file);
  fputs("],\"metrics\":{", file);
  corescale_put_values_(file, corescale_state_.metrics, 0);
  fputs("},\"checks\":{", file);
  corescale_put_values_(file, corescale_state_.checks, 1);
  fputs("},\"work\":", file);
  if (corescale_state_.has_work)
    corescale_put_number_(file, corescale_state_.work);
  else
    fputs("null", file);
  fputs("}\n", file);
}

/* Bytes that suffice for the file; 0 if there is nothing to report. */
static inline size_t corescale_bound_(void) {
  enum { frame = 256, digits = 128, escape = 6, span = 64 };
  const corescale_thread_* thread;
  const corescale_region_* region;
  const corescale_value_* value;
  size_t bytes = corescale_state_.has_work ? digits : 0;
  for (thread = corescale_state_.threads; thread; thread = thread->next) {
    region = __atomic_load_n(&thread->regions, __ATOMIC_ACQUIRE);
    for (; region; region = __atomic_load_n(&region->next, __ATOMIC_ACQUIRE))
      if (__atomic_load_n(&region->calls, __ATOMIC_RELAXED))
        bytes += digits + escape * strlen(region->name) +
                 (region->spans ? span * (size_t)corescale_most_spans_ : 0);
  }
  for (value = corescale_state_.metrics; value; value = value->next)
    bytes += digits + escape * strlen(value->name);
  for (value = corescale_state_.checks; value; value = value->next)
    bytes += digits + escape * strlen(value->name);
  return bytes ? frame + bytes : 0;
}

/* A write beyond the limit of file sizes would kill the program. */
static inline int corescale_may_write_(size_t bytes) {
  struct rlimit size;
  return getrlimit(RLIMIT_FSIZE, &size) || size.rlim_cur >= bytes;
}

static inline int corescale_fault_(const char* path) {
  fprintf(stderr, "corescale: %s: %s; the results of this process are not recorded\n", path, strerror(errno));
  return -1;
}

/* `directory/.stem.tmp` and `directory/stem.json`: temporary, then final. -1 if a name is too long. */
static inline int corescale_paths_(char* temporary, char* path, size_t size, const char* directory) {
  char stem[96];
  snprintf(stem, sizeof stem, "rank-%ld.%ld.%llx", corescale_rank_(), (long)getpid(),
           (unsigned long long)corescale_state_.started);
  if (snprintf(temporary, size, "%s/.%s.tmp", directory, stem) >= (int)size) return -1;
  return snprintf(path, size, "%s/%s.json", directory, stem) >= (int)size ? -1 : 0;
}

/* Called with the lock held. */
static inline int corescale_save_(const char* temporary, const char* path) {
  const size_t bytes = corescale_bound_();
  FILE* file = NULL;
  int bad;
  if (!bytes) return 0;
  errno = EFBIG;
  if (corescale_may_write_(bytes)) file = fopen(temporary, "w");
  if (!file) return corescale_fault_(temporary);
  corescale_put_(file);
  bad = ferror(file);
  bad = fclose(file) || bad; /* a full disk may show itself only here */
  if (!bad) bad = rename(temporary, path);
  if (!bad) return 0;
  corescale_fault_(path);
  remove(temporary);
  return -1;
}

static inline int corescale_write(void) {
  char path[4096], temporary[4096];
  int bad;
  if (!corescale_active_()) return 0;
  errno = ENAMETOOLONG;
  if (corescale_paths_(temporary, path, sizeof path, corescale_state_.directory))
    return corescale_fault_("CORESCALE_RESULT");
  pthread_mutex_lock(&corescale_state_.lock);
  bad = corescale_save_(temporary, path);
  pthread_mutex_unlock(&corescale_state_.lock);
  return bad;
}

#ifdef __cplusplus
}
#endif
#endif
