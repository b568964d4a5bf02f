/* SPDX-License-Identifier: Apache-2.0
 *
 * Proof from inside a timed launch of what was loaded. Preloaded, it appends one record for each program that
 * a process executes to DIR/witness.log, where DIR is the environment's CORESCALE_WITNESS: the process id,
 * the executable, and the objects that malloc and aligned_alloc resolve to, each ended by a zero byte. A
 * record is one write to a file opened for appending, so those of processes side by side do not mix on a
 * local file system. Make the file beforehand: to create it takes the first program longer than all the rest
 * together.
 *
 * It runs before main, so that a program that ends by _exit or gives way to another is seen too; a child that
 * goes on in the same program after a fork has the same objects and adds nothing. It allocates nothing,
 * defines no symbol, and leaves errno and the program's descriptors as they were. A static or set-user-id
 * program never loads it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { path_limit = 4096, record_limit = 4 * path_limit };

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

/* The loaded object that holds an address. dladdr would look at all symbols of it as well. */
struct holder {
  ElfW(Addr) address;
  const char* object;
};

static int holds(struct dl_phdr_info* object, size_t size, void* wanted) {
  (void)size;
  struct holder* const holder = wanted;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &object->dlpi_phdr[i];
    const ElfW(Addr) offset = holder->address - object->dlpi_addr - segment->p_vaddr;
    if (segment->p_type != PT_LOAD || offset >= segment->p_memsz) continue;
    holder->object = object->dlpi_name;
    return 1;
  }
  return 0;
}

/* The loader leaves the program itself without a name. */
static const char* object_of(const char* symbol, const char* program) {
  struct holder holder = {(ElfW(Addr))dlsym(RTLD_DEFAULT, symbol), ""};
  dl_iterate_phdr(holds, &holder);
  return holder.address && !*holder.object ? program : holder.object;
}

static const char* executable(char* buffer) {
  const ssize_t length = readlink("/proc/self/exe", buffer, path_limit - 1);
  buffer[length < 0 ? 0 : length] = '\0';
  return buffer;
}

static void save(const char* directory, const struct record* record) {
  char path[path_limit];
  if (strlen(directory) + sizeof "/witness.log" > sizeof path) return;
  stpcpy(stpcpy(path, directory), "/witness.log");
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  /* What could not be written is a missing witness, which the reader reports. */
  if (write(file, record->text, record->length) < 0) errno = 0;
  close(file);
}

__attribute__((constructor)) static void testify(void) {
  const char* const directory = getenv("CORESCALE_WITNESS");
  if (!directory || !*directory) return;
  const int error = errno;
  char number[24], path[path_limit];
  const char* const program = executable(path);
  struct record record;
  record.length = 0;
  append(&record, digits_of((unsigned long)getpid(), number + sizeof number));
  append(&record, program);
  append(&record, object_of("malloc", program));
  append(&record, object_of("aligned_alloc", program));
  save(directory, &record);
  errno = error;
}
