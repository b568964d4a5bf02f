/* SPDX-License-Identifier: Apache-2.0
 *
 * A preloaded library that records which environment variables a program asks for, in the file asked.log of the
 * directory CORESCALE_ENV_READS. CORESCALE_KNOWN is the comma-separated list of the variables that are recorded.
 * When a process first asks getenv or secure_getenv for one of them, a line with its name is appended. Before main,
 * a line is appended for each object that the loader has mapped: its path, which begins with a slash. If the file has
 * no lines, no program has loaded this library.
 *
 * A program that reads `environ` directly is not detected. The library allocates nothing and leaves errno as it was.
 * It is never preloaded in a launch whose time counts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { path_limit = 4096, most_known = 64 };

static char* value_of(const char* name) {
  const size_t length = strlen(name);
  for (char** entry = environ; entry && *entry; ++entry)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return NULL;
}

/* A single write to a file opened for appending, so that lines of concurrent processes do not mix. */
static void append(const char* folder, const char* text, size_t length) {
  char path[path_limit], line[path_limit];
  if (strlen(folder) + sizeof "/asked.log" > sizeof path || length + 1 > sizeof line) return;
  stpcpy(stpcpy(path, folder), "/asked.log");
  memcpy(line, text, length);
  line[length] = '\n';
  const int error = errno;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) {
    if (write(file, line, length + 1) < 0) errno = 0;
    close(file);
  }
  errno = error;
}

/* The position of a name in the list; -1 if it is not there. */
static int place_of(const char* name, const char* list) {
  const size_t length = strlen(name);
  for (int place = 0; place < most_known; ++place) {
    const size_t here = strcspn(list, ",");
    if (here == length && strncmp(name, list, length) == 0) return place;
    if (!list[here]) break;
    list += here + 1;
  }
  return -1;
}

static void note(const char* name) {
  static _Atomic uint64_t noted;
  const char* const folder = value_of("CORESCALE_ENV_READS");
  const char* const known = value_of("CORESCALE_KNOWN");
  const int place = folder && known ? place_of(name, known) : -1;
  if (place < 0) return;
  const uint64_t bit = UINT64_C(1) << place;
  if (!(atomic_fetch_or(&noted, bit) & bit)) append(folder, name, strlen(name));
}

__attribute__((visibility("default"))) char* getenv(const char* name) {
  note(name);
  return value_of(name);
}

__attribute__((visibility("default"))) char* secure_getenv(const char* name) {
  note(name);
  return getauxval(AT_SECURE) ? NULL : value_of(name);
}

static int tell(struct dl_phdr_info* object, size_t size, void* folder) {
  (void)size;
  if (object->dlpi_name[0] == '/') append(folder, object->dlpi_name, strlen(object->dlpi_name));
  return 0;
}

__attribute__((constructor)) static void listen_from_now(void) {
  char* const folder = value_of("CORESCALE_ENV_READS");
  if (folder && *folder) dl_iterate_phdr(tell, folder);
}
