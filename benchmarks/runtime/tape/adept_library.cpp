// SPDX-License-Identifier: Apache-2.0
#define ADEPT_STACK_THREAD_UNSAFE 1
#include <adept_source.h>
