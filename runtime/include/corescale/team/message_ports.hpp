// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <cerrno>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "corescale/team/detail/posix_thread.hpp"

// Message-based threading in the manner of the Concurrency and Coordination Runtime (Qiu et al., section III.A). A program posts messages
// to typed ports. An arbiter activates receivers, which pair each message with a handler. A dispatcher runs the pairs.
namespace corescale::inline v0::message_ports {

/// The number of tasks that are ready, for threads that sleep until one is.
/// It is not a condition variable: in glibc 2.25 to 2.40 (bug 25847), several threads that wait for one may lose a wake-up. Then handlers
/// that wait for each other, as in a team's round, would wait for ever.
class ready_count {
 public:
  ready_count() noexcept { sem_init(&count_, 0, 0); }
  ~ready_count() { sem_destroy(&count_); }
  ready_count(const ready_count&) = delete;
  ready_count& operator=(const ready_count&) = delete;

  void add_one() noexcept { sem_post(&count_); }
  void take_one() noexcept {
    while (sem_wait(&count_) != 0 && errno == EINTR) {
    }
  }

 private:
  sem_t count_{};
};

/// A fixed number of threads that take tasks from one first-in, first-out queue.
class dispatcher {
 public:
  /// Throws std::system_error at the thread limit, having ended the threads it had started.
  explicit dispatcher(std::size_t num_threads, std::size_t stack_bytes = 0) {
    threads_.reserve(num_threads);
    try {
      while (threads_.size() < num_threads) threads_.emplace_back([this] { serve(); }, stack_bytes);
    } catch (...) {
      end();
      throw;
    }
  }
  ~dispatcher() { end(); }
  dispatcher(const dispatcher&) = delete;
  dispatcher& operator=(const dispatcher&) = delete;

  void enqueue(std::function<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.add_one();
  }

 private:
  void serve() {
    for (;;) {
      ready_.take_one();
      std::unique_lock lock(mutex_);
      if (tasks_.empty()) return;  // counted by end(): there is nothing after it
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  void end() {
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) ready_.add_one();
    for (detail::posix_thread& one : threads_) one.join();
    threads_.clear();
  }

  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  ready_count ready_;
  std::vector<detail::posix_thread> threads_;
};

template <class Message>
class port;

/// A handler for the messages of one port: for the next one, or (persistent) for every one.
template <class Message>
struct receiver {
  bool persistent;
  port<Message>* from;
  std::function<void(Message)> handler;
};

template <class Message>
receiver<Message> receive(bool persistent, port<Message>& from, std::function<void(Message)> handler) {
  return {persistent, &from, std::move(handler)};
}

/// A typed queue. A message waits in it until a receiver is active.
template <class Message>
class port {
 public:
  /// Throws std::bad_alloc; then the message is not posted.
  void post(Message message) {
    const std::scoped_lock lock(mutex_);
    messages_.push_back(std::move(message));
    try {
      pair_up();
    } catch (...) {
      messages_.pop_back();
      throw;
    }
  }

  /// Activates a receiver, as an arbiter does.
  void activate(dispatcher& queue, receiver<Message> activated) {
    const std::scoped_lock lock(mutex_);
    active_.push_back(
        {&queue, activated.persistent, std::make_shared<const handler>(std::move(activated.handler))});
    pair_up();
  }

 private:
  using handler = std::function<void(Message)>;
  struct active {
    dispatcher* queue;
    bool persistent;
    std::shared_ptr<const handler> run;
  };

  void pair_up() {
    while (!messages_.empty() && !active_.empty()) {
      const active& first = active_.front();
      first.queue->enqueue([run = first.run, message = messages_.front()] { (*run)(message); });
      messages_.pop_front();
      if (!first.persistent) active_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Message> messages_;
  std::deque<active> active_;
};

struct arbiter {
  template <class Message>
  static void activate(dispatcher& queue, receiver<Message> activated) {
    port<Message>& from = *activated.from;
    from.activate(queue, std::move(activated));
  }
};

}  // namespace corescale::inline v0::message_ports
