// SPDX-License-Identifier: Apache-2.0
#include <adept_source.h>
