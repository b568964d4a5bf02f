// SPDX-License-Identifier: Apache-2.0
// A program that does what the spawner must cope with: spawner_fixture WHAT [NUMBER] [FILE].
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Uses `seconds` of CPU time in this thread, however long that takes.
void burn(double seconds) {
  while (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) < seconds) {
  }
}

int wait_for_children() {
  while (wait(nullptr) > 0) {
  }
  return 0;
}

/// Three processes, of which one is the child of another: 3 * seconds of CPU time.
int burn_tree(double seconds) {
  if (fork() == 0) {
    if (fork() == 0) {
      burn(seconds);
      _exit(0);
    }
    burn(seconds);
    _exit(wait_for_children());
  }
  burn(seconds);
  return wait_for_children();
}

int burn_threads(double count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < static_cast<int>(count); ++i) threads.emplace_back([] { burn(0.3); });
  for (auto& thread : threads) thread.join();
  return 0;
}

/// Touches `megabytes`, in two processes at once, and keeps them a while.
int fill(double megabytes) {
  const bool child = fork() == 0;
  const auto bytes = static_cast<std::size_t>(megabytes * 1048576);
  std::vector<char> memory(bytes, 1);
  usleep(500000);
  if (child) _exit(memory[bytes / 2] - 1);
  return wait_for_children() + memory[bytes / 2] - 1;
}

/// Leaves its session, its parent and its parent's parent, writes its process id to `file` and stays.
int daemonize(double seconds, const char* file) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    std::ofstream(file) << getpid() << std::flush;
    sleep(1000);
    _exit(0);
  }
  wait_for_children();
  while (std::ifstream(file).peek() == std::ifstream::traits_type::eof()) usleep(1000);
  usleep(static_cast<useconds_t>(seconds * 1e6));
  return 0;
}

/// The first thread is long gone when the last one ends the process.
int exit_from_thread(double) {
  std::thread([] {
    usleep(20000);
    _exit(0);
  }).detach();
  pthread_exit(nullptr);
}

/// The process ends from a thread while the first one sleeps.
int exit_beside_main(double) {
  std::thread([] { exit(7); }).detach();
  sleep(1000);
  return 0;
}

/// Another program takes over from a thread that is not the first.
int exec_from_thread(double) {
  std::thread([] { execl("/bin/true", "true", nullptr); }).detach();
  sleep(1000);
  return 1;
}

int write_bytes(double megabytes) {
  const std::vector<char> block(1 << 20, 'x');
  for (int i = 0; i < static_cast<int>(megabytes); ++i)
    if (fwrite(block.data(), 1, block.size(), stdout) != block.size()) return 1;
  return fputs("the end", stdout) < 0;
}

int binary_errors(double) {
  const char bytes[] = "start\0\xFF\xFE\x1b[31m caf\xC3\xA9 \"end\"\n";
  return write(2, bytes, sizeof bytes - 1) < 0;
}

/// Stops itself as Ctrl-Z would, to be continued by its child.
int stop_and_continue(double) {
  const pid_t self = getpid();
  if (fork() == 0) {
    usleep(100000);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
  return wait_for_children();
}

int signal_itself(double number) { return raise(static_cast<int>(number)); }

int catch_a_signal(double) {
  static volatile sig_atomic_t caught = 0;
  signal(SIGUSR1, [](int) { caught = 1; });
  raise(SIGUSR1);
  return caught == 1 ? 0 : 1;
}

/// Whether a signal is blocked, or a descriptor beyond the first three is open.
int inspect(double) {
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < 32; ++number) {
    if (sigismember(&blocked, number) == 1) return 1;
  }
  for (int file = 3; file < 1000; ++file)
    if (fcntl(file, F_GETFD) >= 0) return 2;
  if (getpgrp() != getpid() || setpgid(0, 0) != 0) return 3;
  return open("/dev/tty", O_RDWR) < 0 ? 0 : 4;
}

/// What a program may do with `> file`: let the kernel copy to standard output.
int copy_to_output(double) {
  const int from = open("/etc/passwd", O_RDONLY);
  if (from < 0 || sendfile(1, from, nullptr, 10) != 10) return 1;
  return copy_file_range(from, nullptr, 1, nullptr, 10, 0) == 10 ? 0 : 2;
}

/// A child that uses `seconds` and that nobody waits for: the kernel reaps it.
int leave_unreaped(double seconds) {
  signal(SIGCHLD, SIG_IGN);
  if (fork() == 0) {
    burn(seconds);
    _exit(0);
  }
  wait(nullptr);
  return 0;
}

/// The same, though the program shows no ignored signal.
int leave_unreaped_quietly(double seconds) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, nullptr);
  if (fork() == 0) {
    burn(seconds);
    _exit(0);
  }
  wait(nullptr);
  return 0;
}

/// Becomes another user for good, whom the spawner may not signal, in a process that outlives the first.
int outlive(double seconds) {
  if (fork() != 0) {
    usleep(50000);
    return 0;
  }
  if (setresuid(0, 0, 0) != 0) return 1;
  usleep(static_cast<useconds_t>(seconds * 1e6));
  return 0;
}

/// `count` threads that sleep for a while.
int sleep_threads(double count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < static_cast<int>(count); ++i) threads.emplace_back([] { usleep(300000); });
  for (auto& thread : threads) thread.join();
  return 0;
}

/// Four chains of `count` short children each, most of which no sample sees.
int chain_children(double count) {
  for (int chain = 0; chain < 4; ++chain) {
    if (fork() != 0) continue;
    for (int i = 0; i < static_cast<int>(count); ++i) {
      if (fork() == 0) {
        burn(0.007);
        _exit(0);
      }
      wait(nullptr);
    }
    _exit(0);
  }
  return wait_for_children();
}

/// `count` processes whose parents are gone.
int leave_orphans(double count) {
  for (int i = 0; i < static_cast<int>(count); ++i) {
    if (fork() == 0) {
      if (fork() == 0) usleep(1000);
      _exit(0);
    }
    wait(nullptr);
  }
  return 0;
}

/// Reads a file, which fills the page cache and no memory of its own.
int read_file(double, const char* file) {
  std::vector<char> block(1 << 20);
  const int from = open(file, O_RDONLY);
  while (read(from, block.data(), block.size()) > 0) {
  }
  usleep(50000);
  return 0;
}

/// Ends by itself when asked to, after leaving a mark in `file`.
int obey(double, const char* file) {
  static const char* mark;
  mark = file;
  signal(SIGTERM, [](int) {
    close(creat(mark, 0600));
    _exit(0);
  });
  sleep(1000);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const double number = count > 2 ? atof(words[2]) : 0;
  const char* file = count > 3 ? words[3] : "";
  const std::map<std::string, std::function<int()>> acts = {
      {"nothing", [&] { return 0; }},
      {"burn", [&] { return burn(number), 0; }},
      {"burn-tree", [&] { return burn_tree(number); }},
      {"burn-threads", [&] { return burn_threads(number); }},
      {"fill", [&] { return fill(number); }},
      {"daemon", [&] { return daemonize(number, file); }},
      {"exit-from-thread", [&] { return exit_from_thread(number); }},
      {"exit-beside-main", [&] { return exit_beside_main(number); }},
      {"exec-from-thread", [&] { return exec_from_thread(number); }},
      {"write", [&] { return write_bytes(number); }},
      {"binary-errors", [&] { return binary_errors(number); }},
      {"stop", [&] { return stop_and_continue(number); }},
      {"signal", [&] { return signal_itself(number); }},
      {"catch", [&] { return catch_a_signal(number); }},
      {"inspect", [&] { return inspect(number); }},
      {"copy", [&] { return copy_to_output(number); }},
      {"unreaped", [&] { return leave_unreaped(number); }},
      {"unreaped-quietly", [&] { return leave_unreaped_quietly(number); }},
      {"outlive", [&] { return outlive(number); }},
      {"sleep-threads", [&] { return sleep_threads(number); }},
      {"chains", [&] { return chain_children(number); }},
      {"orphans", [&] { return leave_orphans(number); }},
      {"read", [&] { return read_file(number, file); }},
      {"obey", [&] { return obey(number, file); }},
  };
  const auto act = acts.find(what);
  return act == acts.end() ? 2 : act->second();
}
