// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace driver {

/// Whether ranks and their clock are SimGrid's: a build by smpicxx.
#ifdef CORESCALE_SIMULATED
inline constexpr bool is_simulated = true;
#else
inline constexpr bool is_simulated = false;
#endif

/// Charges the simulated clock with what this rank computed on one core since resume_serial(). `place`: an address in the code that did.
void charge_serial(const void* place);
/// The rank computes from here on.
void resume_serial();

/// While it lives, which is during a message, the rank does not compute. Has no effect in a build that is not simulated.
class Message {
 public:
#ifdef CORESCALE_SIMULATED
  __attribute__((always_inline)) Message() { charge_serial(here()); }
  ~Message() { resume_serial(); }
#else
  Message() {}   // NOLINT(modernize-use-equals-default): so that an object of it is used
  ~Message() {}  // NOLINT(modernize-use-equals-default)
#endif
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

 private:
  __attribute__((noinline)) static const void* here() { return __builtin_return_address(0); }
};

}  // namespace driver
