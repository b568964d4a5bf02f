// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

#ifdef __SANITIZE_THREAD__
inline constexpr bool tsan = true;
#else
inline constexpr bool tsan = false;
#endif

#ifdef __OPTIMIZE__
inline constexpr bool fast = !sanitized;
#else
inline constexpr bool fast = false;
#endif
