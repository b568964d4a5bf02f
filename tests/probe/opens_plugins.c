/* SPDX-License-Identifier: Apache-2.0
 * opens_plugins [-c] LIBRARY...: each gives what `wrong` says, ten times in turn, in this program that has no runtime of
 * its own. With -c a library is closed before the next one is opened, and its runtime stays, whose threads wait in it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { most = 8, rounds = 10, threads = 3 };

int main(int count, char** word) {
  const int closes = count > 1 && strcmp(word[1], "-c") == 0;
  void* opened[most] = {0};
  int bad = 0;
  if (closes)
    for (const char* const* runtime = (const char* const[]){"libgomp.so.1", "libomp.so.5", NULL}; *runtime;
         ++runtime)
      dlopen(*runtime, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  for (int round = 0; round < rounds; ++round)
    for (int i = 1 + closes; i < count && i < most; ++i) {
      int (*wrong)(int);
      if (!opened[i]) opened[i] = dlopen(word[i], RTLD_NOW | RTLD_LOCAL);
      if (!opened[i]) return fprintf(stderr, "%s\n", dlerror()), 2;
      *(void**)&wrong = dlsym(opened[i], "wrong");
      bad += wrong(threads);
      if (closes) dlclose(opened[i]), opened[i] = NULL;
    }
  printf("%d wrong\n", bad);
  return bad != 0;
}
