/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof from inside a timed launch of what was loaded. Preloaded, it appends a record for each program that a
 * process executes to DIR/witness.log; CORESCALE_WITNESS is DIR. A record has the process id, the executable,
 * and the objects that malloc, operator new and OpenMP's GOMP_parallel resolve to, each ended by a zero byte.
 * It is one write to a file opened for appending, so records of concurrent processes do not mix on a local
 * file system. Create the file beforehand, because that takes the first program longer than all the rest
 * together.
 *
 * It runs before main, so that a program that ends by _exit or executes another one is seen too. A forked
 * child that stays in the same program has the same objects, and adds nothing. It allocates nothing, and
 * leaves errno and the program's descriptors as they were. A static or set-user-id program never loads it.
 *
 * It defines dlclose alone, which it passes on. In the untimed proof, where CORESCALE_WITNESS_KEEPS is set,
 * libraries stay loaded instead, so that the program's last map shows every one that it had.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { path_limit = 4096, record_limit = 5 * path_limit };

struct record {
  char text[record_limit];
  size_t length;
};

static void append(struct record* to, const char* text) {
  const size_t room = record_limit - to->length;
  const size_t length = strnlen(text, path_limit - 1);
  if (length + 1 > room) return;
  memcpy(to->text + to->length, text, length);
  to->text[to->length + length] = '\0';
  to->length += length + 1;
}

/* Decimal digits, without printf, which may allocate. */
static const char* digits_of(unsigned long number, char* end) {
  *--end = '\0';
  do *--end = (char)('0' + number % 10);
  while (number /= 10);
  return end;
}

/* The tables of a loaded object that show which symbols it defines. */
struct symbols {
  const ElfW(Sym) * table;
  const char* names;
  const uint32_t* gnu_hash;
  const uint32_t* hash;
};

static struct symbols symbols_of(const struct dl_phdr_info* object) {
  struct symbols found = {NULL, NULL, NULL, NULL};
  const ElfW(Dyn)* entry = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const void*)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    /* A loader may have added the load address already, but not if the section is read-only. */
    const ElfW(Addr) value = entry->d_un.d_ptr;
    const void* const place = (const void*)(value < object->dlpi_addr ? object->dlpi_addr + value : value);
    if (entry->d_tag == DT_SYMTAB) found.table = place;
    if (entry->d_tag == DT_STRTAB) found.names = place;
    if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = place;
    if (entry->d_tag == DT_HASH) found.hash = place;
  }
  return found;
}

static int is(const struct symbols* in, uint32_t k, const char* name) {
  return in->table[k].st_shndx != SHN_UNDEF && strcmp(in->names + in->table[k].st_name, name) == 0;
}

static int defined_by_gnu_hash(const struct symbols* in, const char* name) {
  const uint32_t buckets = in->gnu_hash[0], first = in->gnu_hash[1], words = in->gnu_hash[2];
  const uint32_t* const bucket = in->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* const chain = bucket + buckets;
  uint32_t hash = 5381;
  for (const char* c = name; *c; ++c) hash = hash * 33 + (unsigned char)*c;
  uint32_t k = buckets ? bucket[hash % buckets] : 0;
  if (k < first) return 0;
  do
    if ((chain[k - first] | 1) == (hash | 1) && is(in, k, name)) return 1;
  while (!(chain[k++ - first] & 1));
  return 0;
}

static int defined_by_hash(const struct symbols* in, const char* name) {
  for (uint32_t k = 1; k < in->hash[1]; ++k)
    if (is(in, k, name)) return 1;
  return 0;
}

/* Finds the object that serves a symbol: the first that defines it, in the loader's order of search. Not by
 * dlsym: in a program linked to a fixed address that takes the address of malloc, dlsym returns that
 * program's own stub. */
struct search {
  const char* symbol;
  const char* object;
};

/* corescale's observing libraries pass every call on, so they serve nothing themselves. */
static int passes_on(const char* object) {
  const char* const ours = strstr(object, "/libcorescale_");
  return ours != NULL && strncmp(ours, "/libcorescale_malloc", 20) != 0;
}

static int defines(struct dl_phdr_info* object, size_t size, void* wanted) {
  (void)size;
  struct search* const search = wanted;
  const struct symbols symbols = symbols_of(object);
  if (!symbols.table || !symbols.names) return 0;
  if (passes_on(object->dlpi_name)) return 0;
  const int found = symbols.gnu_hash ? defined_by_gnu_hash(&symbols, search->symbol)
                    : symbols.hash   ? defined_by_hash(&symbols, search->symbol)
                                     : 0;
  if (found) search->object = object->dlpi_name;
  return found;
}

/* The loader leaves the program itself without a name. */
static const char* object_of(const char* symbol, const char* program) {
  struct search search = {symbol, ""};
  return dl_iterate_phdr(defines, &search) && !*search.object ? program : search.object;
}

static const char* executable(char* buffer) {
  const ssize_t length = readlink("/proc/self/exe", buffer, path_limit - 1);
  buffer[length < 0 ? 0 : length] = '\0';
  return buffer;
}

/* The process id in the namespace that /proc shows, which is the spawner's unless the program mounted
 * another. */
static const char* process(char* buffer, size_t size) {
  const ssize_t length = readlink("/proc/self", buffer, size - 1);
  if (length <= 0) return digits_of((unsigned long)getpid(), buffer + size);
  buffer[length] = '\0';
  return buffer;
}

/* The reader reports records that could not be written. A limit on file sizes is respected, because the
 * kernel would kill the program for a write beyond it. */
static void write_record(int file, const struct record* record) {
  struct stat status;
  struct rlimit limit;
  if (fstat(file, &status) || getrlimit(RLIMIT_FSIZE, &limit)) return;
  if ((rlim_t)status.st_size + record->length > limit.rlim_cur) return;
  if (write(file, record->text, record->length) < 0) errno = 0;
}

static void save(const char* directory, const struct record* record) {
  char path[path_limit];
  if (strlen(directory) + sizeof "/witness.log" > sizeof path) return;
  stpcpy(stpcpy(path, directory), "/witness.log");
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  write_record(file, record);
  close(file);
}

__attribute__((visibility("default"))) int dlclose(void* library) {
  if (getenv("CORESCALE_WITNESS_KEEPS")) return 0;
  int (*next)(void*) = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "dlclose");
  return next ? next(library) : 0;
}

__attribute__((constructor)) static void testify(void) {
  const char* const directory = getenv("CORESCALE_WITNESS");
  if (!directory || !*directory) return;
  const int error = errno;
  char number[24], path[path_limit];
  const char* const program = executable(path);
  struct record record;
  record.length = 0;
  append(&record, process(number, sizeof number));
  append(&record, program);
  append(&record, object_of("malloc", program));
  append(&record, object_of("_Znwm", program));
  append(&record, object_of("GOMP_parallel", program));
  save(directory, &record);
  errno = error;
}
