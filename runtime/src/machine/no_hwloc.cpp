// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "assemble.hpp"

// A build without hwloc: this machine is read from sysfs, another one cannot be described.
namespace corescale::inline v0 {

bool detail::from_hwloc(topology&) { return false; }

topology topology::from_xml(const std::string&) {
  throw std::runtime_error(
      "a topology from XML: this corescale was built without hwloc (package libhwloc-dev)");
}

topology topology::from_synthetic(const std::string&) {
  throw std::runtime_error(
      "a synthetic topology: this corescale was built without hwloc (package libhwloc-dev)");
}

}  // namespace corescale
