// SPDX-License-Identifier: Apache-2.0
#pragma once

// The build reads the version of the package from this file.
#define CORESCALE_VERSION_MAJOR 0
#define CORESCALE_VERSION_MINOR 1
#define CORESCALE_VERSION_PATCH 0

/// Everything is in the inline namespace v0, which changes with the major version of the binary interface. So objects built against
/// another version fail to link, instead of failing when they run.
namespace corescale::inline v0 {

/// One number to compare versions by: major * 10000 + minor * 100 + patch.
inline constexpr int version =
    CORESCALE_VERSION_MAJOR * 10000 + CORESCALE_VERSION_MINOR * 100 + CORESCALE_VERSION_PATCH;

}  // namespace corescale
